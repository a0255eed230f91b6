/**
 * A change that wants a second look: says what will happen, takes a reason where one is kept, and asks to type the name
 * where it cannot be undone. The refusal stays in the dialog, next to the button that caused it. Reversible acts need none.
 */
import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ActionButton } from './action-button.tsx';
import { CliCommand } from './cli-command.tsx';
import { ErrorPanel, type ShownError } from './error-panel.tsx';

export type ConfirmDialogProps = Readonly<{
  title: string;
  isOpen: boolean;
  onClose(): void;
  /** What will happen, in sentences. */
  children: ReactNode;
  confirmLabel: string;
  isDestructive?: boolean;
  /** Has to be typed. */
  typeToConfirm?: string | undefined;
  /** Asks why; the text goes into the audit log. */
  asksReason?: boolean;
  isRunning: boolean;
  error: ShownError | null;
  /** The equivalent command for what is typed so far. */
  command?: (reason: string) => string;
  /** Closes by itself where it resolves to true. */
  onConfirm(reason: string): Promise<boolean>;
}>;

export const ConfirmDialog = (props: ConfirmDialogProps) => (
  <Modal opened={props.isOpen} onClose={props.onClose} title={<Text fw={600}>{props.title}</Text>}>
    {/* Mounted anew each time, so that nothing typed the last time stands there. */}
    {props.isOpen && <Body {...props} />}
  </Modal>
);

const Body = (props: ConfirmDialogProps) => {
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const missing =
    props.typeToConfirm !== undefined && typed !== props.typeToConfirm
      ? `Type ${props.typeToConfirm} to confirm.`
      : props.asksReason && reason.trim() === ''
        ? 'Say why; it is kept in the audit log.'
        : null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (missing === null && (await props.onConfirm(reason.trim()))) props.onClose();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        <div>{props.children}</div>
        {props.asksReason && (
          <Textarea
            label="Reason"
            description="Kept in the audit log."
            value={reason}
            maxLength={240}
            autosize
            minRows={2}
            data-autofocus
            onChange={(event) => setReason(event.currentTarget.value)}
          />
        )}
        {props.typeToConfirm !== undefined && (
          <TextInput
            label={`Type ${props.typeToConfirm} to confirm`}
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        {props.error !== null && <ErrorPanel error={props.error} />}
        {props.command !== undefined && <CliCommand command={props.command(reason.trim() || '…')} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onClose}>
            Cancel
          </Button>
          <ActionButton
            type="submit"
            color={props.isDestructive ? 'red' : 'accent'}
            loading={props.isRunning}
            disabledReason={missing}
          >
            {props.confirmLabel}
          </ActionButton>
        </Group>
      </Stack>
    </form>
  );
};
