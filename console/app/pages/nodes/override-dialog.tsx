/** Says otherwise than a source of health: until a time, with a reason, and never silently. */
import type { Node, Operations } from '@gpuaas/sdk';
import { Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';

type NodeHealth = Operations['adminNodeHealthGet']['response'];

const HOURS = [1, 4, 24, 168] as const;
const HOUR_MS = 3_600_000;
const ALERT_ID = /^[a-z0-9_.-]{1,64}$/;

const missingOf = (form: Form): string | null => {
  if (form.source === '') return 'Name the source.';
  if (form.added !== '' && !ALERT_ID.test(form.added))
    return 'The id of an alert is made of lower-case letters, digits and _ . -';
  if (form.added !== '' && form.message.trim() === '') return 'Say what the added alert means.';
  if (form.muted.length === 0 && form.added === '' && !form.replaces)
    return 'Mute or add an alert, or replace them all.';
  return form.reason.trim() === '' ? 'Say why; it is kept in the audit log.' : null;
};

type Form = Readonly<{
  source: string;
  muted: readonly string[];
  replaces: boolean;
  added: string;
  message: string;
  hours: string;
  reason: string;
}>;

const Body = ({ node, health, onClose }: Readonly<{ node: Node; health: NodeHealth; onClose: () => void }>) => {
  const put = useChange('adminNodeHealthOverridePut');
  const [form, setForm] = useState<Form>({
    source: health.reports[0]?.source ?? '',
    muted: [],
    replaces: false,
    added: '',
    message: '',
    hours: '4',
    reason: '',
  });
  const set = (change: Partial<Form>) => setForm((before) => ({ ...before, ...change }));
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
                  tenant_message: null,
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
      submitLabel="Say so"
      missing={missingOf(form)}
      isRunning={put.isRunning}
      error={put.error}
      onSubmit={submit}
      onCancel={onClose}
      command={command(
        ['admin', 'health', 'override', node.name, form.source === '' ? 'SOURCE' : form.source],
        [
          ...form.muted.map((id) => ['mute', id] as const),
          ['alert', form.added === '' ? null : `${form.added}=${form.message.trim()}`],
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
        onChange={(event) => set({ source: event.currentTarget.value, muted: [] })}
      />
      {alertIds.length > 0 && (
        <Checkbox.Group label="Do not count" value={[...form.muted]} onChange={(muted) => set({ muted })}>
          <Stack gap={6} mt={4}>
            {alertIds.map((id) => (
              <Checkbox key={id} value={id} label={id} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      <Checkbox
        label="Forget everything that the source says"
        checked={form.replaces}
        onChange={(event) => set({ replaces: event.currentTarget.checked })}
      />
      <Group grow align="flex-start">
        <TextInput
          label="Add an alert"
          description="Left empty, none is added."
          placeholder="gpu_loud"
          value={form.added}
          onChange={(event) => set({ added: event.currentTarget.value })}
        />
        <TextInput
          label="What it means"
          description="It keeps launches away."
          value={form.message}
          onChange={(event) => set({ message: event.currentTarget.value })}
        />
      </Group>
      <NativeSelect label="For" value={form.hours} onChange={(event) => set({ hours: event.currentTarget.value })}>
        {HOURS.map((hours) => (
          <option key={hours} value={hours}>
            {hours === 1 ? '1 hour' : hours === 168 ? '7 days' : `${hours} hours`}
          </option>
        ))}
        <option value="">until it is removed</option>
      </NativeSelect>
      <Textarea
        label="Reason"
        description="Kept in the audit log."
        value={form.reason}
        maxLength={240}
        onChange={(event) => set({ reason: event.currentTarget.value })}
      />
    </DialogForm>
  );
};

export const OverrideDialog = (
  props: Readonly<{ node: Node; health: NodeHealth; isOpen: boolean; onClose: () => void }>,
) => (
  <FormDialog title="Say otherwise about its health" isOpen={props.isOpen} onClose={props.onClose}>
    {props.isOpen && <Body node={props.node} health={props.health} onClose={props.onClose} />}
  </FormDialog>
);
