/** Creates something with a display name and a name for commands; the second is suggested from the first. */
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { NAME_RULE, nameFrom, nameProblem, optionalTextProblem, textProblem } from '../../rules/name.ts';
import type { ShownError } from '../../ui/error-panel.tsx';
import { DialogForm } from '../../ui/form-dialog.tsx';

type Sending = Readonly<{ isRunning: boolean; error: ShownError | null }>;

export const NamedForm = ({
  unique,
  change,
  command,
  onSubmit,
  onCancel,
}: Readonly<{
  /** Where the name is unique: `in the organization`. */
  unique: string;
  change: Sending;
  command(name: string, displayName: string): string;
  onSubmit(body: Readonly<{ name: string; display_name?: string }>): Promise<void>;
  onCancel(): void;
}>) => {
  const form = useForm<{ displayName: string; typedName: string | null }>({
    initialValues: { displayName: '', typedName: null },
  });
  const { displayName, typedName } = form.getValues();
  const shown = displayName.trim();
  const name = typedName ?? nameFrom(displayName);
  return (
    <DialogForm
      submitLabel="Create"
      missing={nameProblem(name) ?? optionalTextProblem(shown, 'display name', 120)}
      isRunning={change.isRunning}
      error={change.error}
      command={command(name || 'NAME', shown)}
      onSubmit={() => onSubmit({ name, ...(shown === '' ? {} : { display_name: shown }) })}
      onCancel={onCancel}
    >
      <TextInput
        label="Display name"
        description="Can be changed later."
        placeholder="Research group"
        maxLength={120}
        data-autofocus
        {...form.getInputProps('displayName')}
      />
      <TextInput
        label="Name"
        description={`Used in commands and URLs. Unique ${unique}; cannot be changed. ${NAME_RULE}`}
        value={name}
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => form.setFieldValue('typedName', event.currentTarget.value)}
      />
    </DialogForm>
  );
};

export const RenameForm = ({
  now,
  change,
  command,
  onSubmit,
  onCancel,
}: Readonly<{
  now: string;
  change: Sending;
  command(displayName: string): string;
  onSubmit(displayName: string): Promise<void>;
  onCancel(): void;
}>) => {
  const form = useForm({ initialValues: { displayName: now } });
  const shown = form.getValues().displayName.trim();
  const problem = textProblem(shown, 'display name', 120) ?? (shown === now ? 'Enter a different name.' : null);
  return (
    <DialogForm
      submitLabel="Rename"
      missing={problem}
      isRunning={change.isRunning}
      error={change.error}
      command={command(shown)}
      onSubmit={() => onSubmit(shown)}
      onCancel={onCancel}
    >
      <TextInput
        label="Display name"
        description="The name used in commands and URLs does not change."
        maxLength={120}
        data-autofocus
        {...form.getInputProps('displayName')}
      />
    </DialogForm>
  );
};
