/**
 * Confirms a change: states the consequence, asks for a reason where one is recorded, and asks for the typed name where the
 * change cannot be undone. An error stays in the dialog, next to the button. Reversible changes need no confirmation.
 */
import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ReactNode } from 'react';
import { ActionButton } from './action-button.tsx';
import { CliCommand } from './cli-command.tsx';
import { ErrorPanel, type ShownError } from './error-panel.tsx';

export type ConfirmDialogProps = Readonly<{
  title: string;
  isOpen: boolean;
  onClose(): void;
  /** The consequence, in sentences. */
  children: ReactNode;
  confirmLabel: string;
  isDestructive?: boolean;
  /** The text that must be typed. */
  typeToConfirm?: string | undefined;
  /** What a field of the children still lacks. */
  missing?: string | null | undefined;
  /** Asks for a reason for the audit log. */
  asksReason?: boolean;
  isRunning: boolean;
  error: ShownError | null;
  /** The equivalent command for the current values. */
  command?: (reason: string) => string;
  /** The dialog closes if it resolves to true. */
  onConfirm(reason: string): Promise<boolean>;
}>;

export const ConfirmDialog = (props: ConfirmDialogProps) => (
  <Modal opened={props.isOpen} onClose={props.onClose} title={<Text fw={600}>{props.title}</Text>}>
    {/* Mounted on each opening, so that it starts empty. */}
    {props.isOpen && <Body {...props} />}
  </Modal>
);

const Body = (props: ConfirmDialogProps) => {
  const form = useForm({ initialValues: { reason: '', typed: '' } });
  const { typed } = form.getValues();
  const reason = form.getValues().reason.trim();
  const missing =
    props.typeToConfirm !== undefined && typed !== props.typeToConfirm
      ? `Type ${props.typeToConfirm} to confirm.`
      : props.asksReason && reason === ''
        ? 'Enter a reason.'
        : (props.missing ?? null);
  const submit = async () => {
    if (missing === null && (await props.onConfirm(reason))) props.onClose();
  };
  return (
    <form onSubmit={form.onSubmit(() => void submit())}>
      <Stack gap="sm">
        <div>{props.children}</div>
        {props.asksReason && (
          <Textarea
            label="Reason"
            description="Recorded in the audit log."
            maxLength={240}
            autosize
            minRows={2}
            data-autofocus
            {...form.getInputProps('reason')}
          />
        )}
        {props.typeToConfirm !== undefined && (
          <TextInput
            label={`Type ${props.typeToConfirm} to confirm`}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('typed')}
          />
        )}
        {props.error !== null && <ErrorPanel error={props.error} />}
        {props.command !== undefined && <CliCommand command={props.command(reason || '…')} />}
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
