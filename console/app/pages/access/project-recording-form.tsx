/** Recording in one project, where the organization does not require it already. */
import type { Project } from '@gpuaas/sdk';
import { Checkbox } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ShownError } from '../../ui/error-panel.tsx';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { POLICY_SWITCHES } from './policy-settings.ts';

type Recording = Pick<Project, 'records_terminals' | 'requires_recording'>;

export const ProjectRecordingForm = ({
  now,
  change,
  command,
  onSubmit,
  onCancel,
}: Readonly<{
  now: Recording;
  change: Readonly<{ isRunning: boolean; error: ShownError | null }>;
  command(recording: Recording): string;
  onSubmit(recording: Recording): Promise<void>;
  onCancel(): void;
}>) => {
  const { records_terminals, requires_recording } = now;
  const form = useForm<Recording>({ initialValues: { records_terminals, requires_recording } });
  const given = form.getValues();
  const isSame = given.records_terminals === records_terminals && given.requires_recording === requires_recording;
  return (
    <DialogForm
      submitLabel="Save"
      missing={isSame ? 'Change a setting.' : null}
      isRunning={change.isRunning}
      error={change.error}
      command={command(given)}
      onSubmit={() => onSubmit(given)}
      onCancel={onCancel}
    >
      {POLICY_SWITCHES.map(({ name, label, meaning }) =>
        name === 'records_terminals' || name === 'requires_recording' ? (
          <Checkbox
            key={name}
            label={label}
            description={meaning}
            {...form.getInputProps(name, { type: 'checkbox' })}
          />
        ) : null,
      )}
      <p className="muted">The access policy of the organization applies in addition.</p>
    </DialogForm>
  );
};
