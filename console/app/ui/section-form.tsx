/** A form in a section of a page: its fields, the error of the last attempt, the button and the equivalent command. */
import { Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { ActionButton } from './action-button.tsx';
import { CliCommand } from './cli-command.tsx';
import { ErrorPanel, type ShownError } from './error-panel.tsx';

export const SectionForm = ({
  submitLabel,
  missing,
  isRunning,
  error,
  command,
  onSubmit,
  children,
}: Readonly<{
  submitLabel: string;
  /** Why it cannot be submitted yet. */
  missing: string | null;
  isRunning: boolean;
  error: ShownError | null;
  command: string;
  onSubmit(): Promise<unknown>;
  children: ReactNode;
}>) => {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (missing === null) void onSubmit();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm" maw={520}>
        {children}
        {error !== null && <ErrorPanel error={error} />}
        <Group>
          <ActionButton type="submit" loading={isRunning} disabledReason={missing}>
            {submitLabel}
          </ActionButton>
        </Group>
        <CliCommand command={command} />
      </Stack>
    </form>
  );
};
