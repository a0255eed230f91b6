/** A form in a dialog: its fields, the error next to the button, and the equivalent command. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { ActionButton } from './action-button.tsx';
import { CliCommand } from './cli-command.tsx';
import { ErrorPanel, type ShownError } from './error-panel.tsx';
import { type Secret, SecretView } from './secret-view.tsx';

/**
 * Its content is mounted while it is open, so that it starts empty. If the created resource has a secret, that replaces
 * the form, and the dialog closes only once it was saved.
 */
export const FormDialog = ({
  title,
  isOpen,
  onClose,
  secret = null,
  children,
}: Readonly<{ title: string; isOpen: boolean; onClose(): void; secret?: Secret | null; children: ReactNode }>) => (
  <Modal
    opened={isOpen}
    onClose={onClose}
    title={<Text fw={600}>{secret?.title ?? title}</Text>}
    size="lg"
    withCloseButton={secret === null}
    closeOnEscape={secret === null}
    closeOnClickOutside={secret === null}
  >
    {isOpen && (secret === null ? children : <SecretView secret={secret} onSaved={onClose} />)}
  </Modal>
);

export type DialogFormProps = Readonly<{
  submitLabel: string;
  /** Why it cannot be submitted yet. */
  missing: string | null;
  isRunning: boolean;
  error: ShownError | null;
  command: string;
  isDestructive?: boolean;
  onSubmit(): Promise<void>;
  onCancel(): void;
  children: ReactNode;
}>;

export const DialogForm = (props: DialogFormProps) => {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (props.missing === null) void props.onSubmit();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        {props.children}
        {props.error !== null && <ErrorPanel error={props.error} />}
        <CliCommand command={props.command} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onCancel}>
            Cancel
          </Button>
          <ActionButton
            type="submit"
            color={props.isDestructive ? 'red' : 'accent'}
            loading={props.isRunning}
            disabledReason={props.missing}
          >
            {props.submitLabel}
          </ActionButton>
        </Group>
      </Stack>
    </form>
  );
};
