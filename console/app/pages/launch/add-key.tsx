/** Adds an SSH key inside the launch form, which keeps its values. */
import { Button, Group, Stack } from '@mantine/core';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { SshKeyFields, useSshKeyForm } from '../ssh-keys/ssh-key-form.tsx';

export const AddKey = ({ onAdded, onClose }: Readonly<{ onAdded(id: string): void; onClose(): void }>) => {
  const form = useSshKeyForm(onAdded);
  return (
    <Stack gap="sm" className="panel" data-tone="idle" role="group" aria-label="Add SSH key">
      <div className="panel-body">
        <SshKeyFields
          form={form}
          onNameKeyDown={(event) => {
            // Enter would otherwise submit the launch form around these fields.
            if (event.key !== 'Enter') return;
            event.preventDefault();
            void form.add();
          }}
        />
      </div>
      {form.error !== null && <ErrorPanel error={form.error} />}
      <Group gap="xs">
        <ActionButton onClick={() => void form.add()} loading={form.isRunning} disabledReason={form.problem}>
          Add key
        </ActionButton>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
      <CliCommand command={form.command} />
    </Stack>
  );
};
