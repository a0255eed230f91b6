/** Overrides what a health source reports: with a reason, and until a set time. */
import type { Node, Operations } from '@gpuaas/sdk';
import { Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';

type NodeHealth = Operations['adminNodeHealthGet']['response'];

const HOURS = [1, 4, 24, 168] as const;
const HOUR_MS = 3_600_000;
const ALERT_ID = /^[a-z0-9_.-]{1,64}$/;

const missingOf = (form: Form): string | null => {
  if (form.source === '') return 'Select a source.';
  if (form.added !== '' && !ALERT_ID.test(form.added))
    return 'Use only lower-case letters, digits and _ . - in the alert ID.';
  if (form.added !== '' && form.message.trim() === '') return 'Enter a message for the added alert.';
  if (form.muted.length === 0 && form.added === '' && !form.replaces)
    return 'Mute an alert, add an alert or ignore all alerts.';
  return form.reason.trim() === '' ? 'Enter a reason.' : null;
};

type Form = {
  source: string;
  muted: string[];
  replaces: boolean;
  added: string;
  message: string;
  notice: string;
  hours: string;
  reason: string;
};

const Body = ({ node, health, onClose }: Readonly<{ node: Node; health: NodeHealth; onClose: () => void }>) => {
  const put = useChange('adminNodeHealthOverridePut');
  const { getInputProps, getValues, setValues } = useForm<Form>({
    initialValues: {
      source: health.reports[0]?.source ?? '',
      muted: [],
      replaces: false,
      added: '',
      message: '',
      notice: '',
      hours: '4',
      reason: '',
    },
  });
  const form = getValues();
  const alertIds = [
    ...new Set(
      health.reports.filter(({ source }) => source === form.source).flatMap((one) => one.alerts.map(({ id }) => id)),
    ),
  ];
  const submit = async () => {
    const now = Date.now();
    const answer = await put.run({
      params: { node_id: node.id, source: form.source },
      body: {
        mode: form.replaces ? 'replace' : 'merge',
        alerts:
          form.added === ''
            ? []
            : [
                {
                  id: form.added,
                  target: 'node',
                  since: new Date(now).toISOString(),
                  message: form.message.trim(),
                  tenant_message: form.notice.trim() === '' ? null : form.notice.trim(),
                  classifications: ['prevent_allocations'],
                },
              ],
        muted_alert_ids: [...form.muted],
        expires_at: form.hours === '' ? null : new Date(now + Number(form.hours) * HOUR_MS).toISOString(),
        reason: form.reason.trim(),
      },
    });
    if (answer !== null) onClose();
  };
  return (
    <DialogForm
      submitLabel="Set override"
      missing={missingOf(form)}
      isRunning={put.isRunning}
      error={put.error}
      onSubmit={submit}
      onCancel={onClose}
      command={command(
        ['admin', 'health', 'override', 'set', node.name, form.source === '' ? 'SOURCE' : form.source],
        [
          ...form.muted.map((id) => ['mute', id] as const),
          ['alert', form.added === '' ? null : `${form.added}=${form.message.trim()}`],
          ['tenant-message', form.added === '' || form.notice.trim() === '' ? null : form.notice.trim()],
          ['replace', form.replaces],
          ['for', form.hours === '' ? null : `${form.hours}h`],
          ['reason', form.reason.trim() || '…'],
        ],
      )}
    >
      <NativeSelect
        label="Source"
        value={form.source}
        data={health.reports.map(({ source }) => source)}
        onChange={(event) => setValues({ source: event.currentTarget.value, muted: [] })}
      />
      {alertIds.length > 0 && (
        <Checkbox.Group label="Muted alerts" {...getInputProps('muted')}>
          <Stack gap={6} mt={4}>
            {alertIds.map((id) => (
              <Checkbox key={id} value={id} label={id} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      <Checkbox label="Ignore all alerts of this source" {...getInputProps('replaces', { type: 'checkbox' })} />
      <Group grow align="flex-start">
        <TextInput
          label="Added alert"
          description="Optional alert ID."
          placeholder="gpu_noise"
          {...getInputProps('added')}
        />
        <TextInput label="Alert message" description="The alert blocks new launches." {...getInputProps('message')} />
      </Group>
      <TextInput
        label="Notice to tenants"
        description="Optional. Shown on their allocations; must not name the host or a device."
        maxLength={200}
        {...getInputProps('notice')}
      />
      <NativeSelect label="Duration" {...getInputProps('hours')}>
        {HOURS.map((hours) => (
          <option key={hours} value={hours}>
            {hours === 1 ? '1 hour' : hours === 168 ? '7 days' : `${hours} hours`}
          </option>
        ))}
        <option value="">Until removed</option>
      </NativeSelect>
      <Textarea label="Reason" description="Recorded in the audit log." maxLength={240} {...getInputProps('reason')} />
    </DialogForm>
  );
};

export const OverrideDialog = (
  props: Readonly<{ node: Node; health: NodeHealth; isOpen: boolean; onClose: () => void }>,
) => (
  <FormDialog title="Override health" isOpen={props.isOpen} onClose={props.onClose}>
    {props.isOpen && <Body node={props.node} health={props.health} onClose={props.onClose} />}
  </FormDialog>
);
