/** Asks the operators for a larger GPU limit. */
import { NumberInput, Select, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useChange } from '../../api/change.ts';
import { useMe } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { useOrganizationFlag } from './use-cli-scope.ts';

const WHOLE = 'organization';
const GPUS_MAX = 1_000_000;

const missingOf = (gpus: number, reason: string): string | null => {
  if (!Number.isInteger(gpus) || gpus < 1 || gpus > GPUS_MAX) return 'Enter the number of GPUs.';
  return reason === '' ? 'Enter what the GPUs are for.' : null;
};

export const QuotaRequestForm = ({ organizationId, onDone }: Readonly<{ organizationId: string; onDone(): void }>) => {
  const create = useChange('quotaRequestCreate');
  const projects = useMe().projects.filter((project) => project.organization_id === organizationId);
  const org = useOrganizationFlag(organizationId);
  const form = useForm<{ level: string; gpus: number | string; reason: string }>({
    initialValues: { level: WHOLE, gpus: '', reason: '' },
  });
  const { level } = form.getValues();
  const gpu_limit = Number(form.getValues().gpus);
  const reason = form.getValues().reason.trim();
  const project = projects.find(({ id }) => id === level);
  const submit = async () => {
    const body = { gpu_limit, reason, ...(project === undefined ? {} : { project_id: project.id }) };
    const answer = await create.run({ params: { organization_id: organizationId }, body });
    if (answer !== null) onDone();
  };
  return (
    <DialogForm
      submitLabel="Request"
      missing={missingOf(gpu_limit, reason)}
      isRunning={create.isRunning}
      error={create.error}
      command={command(
        ['quota', 'request'],
        [
          ['gpus', String(gpu_limit || 8)],
          ['reason', reason || '…'],
          project === undefined ? org : ['in-project', project.id],
        ],
      )}
      onSubmit={submit}
      onCancel={onDone}
    >
      <Select
        label="Limit of"
        description="A launch needs room in both limits: of the organization and of the project."
        data={[
          { value: WHOLE, label: 'The whole organization' },
          ...projects.map(({ id, name }) => ({ value: id, label: `Project ${name}` })),
        ]}
        allowDeselect={false}
        {...form.getInputProps('level')}
      />
      <NumberInput
        label="GPUs"
        description="The limit that you need in total, not the difference."
        min={1}
        max={GPUS_MAX}
        allowDecimal={false}
        data-autofocus
        {...form.getInputProps('gpus')}
      />
      <Textarea
        label="Reason"
        description="Operators read it."
        maxLength={500}
        autosize
        minRows={2}
        {...form.getInputProps('reason')}
      />
    </DialogForm>
  );
};
