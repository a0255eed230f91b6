/** Making something that has a name for machines and one for people. The first is suggested by the second. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ShownError } from '../../ui/error-panel.tsx';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { NAME_RULE, nameFrom, nameRefusal, optionalTextRefusal, textRefusal } from './names.ts';

type Sending = Readonly<{ isRunning: boolean; error: ShownError | null }>;

export const NamedForm = ({
  unique,
  change,
  command,
  onSubmit,
  onCancel,
}: Readonly<{
  /** Where no other has the name: `in the organization`. */
  unique: string;
  change: Sending;
  command(name: string, displayName: string): string;
  onSubmit(body: Readonly<{ name: string; display_name?: string }>): Promise<void>;
  onCancel(): void;
}>) => {
  const [displayName, setDisplayName] = useState('');
  const [typed, setTyped] = useState<string | null>(null);
  const shown = displayName.trim();
  const name = typed ?? nameFrom(displayName);
  return (
    <DialogForm
      submitLabel="Create"
      missing={nameRefusal(name) ?? optionalTextRefusal(shown, 'name shown to people', 120)}
      isRunning={change.isRunning}
      error={change.error}
      command={command(name || 'NAME', shown)}
      onSubmit={() => onSubmit({ name, ...(shown === '' ? {} : { display_name: shown }) })}
      onCancel={onCancel}
    >
      <TextInput
        label="Name shown to people"
        description="Can be changed later."
        placeholder="Research group"
        value={displayName}
        maxLength={120}
        data-autofocus
        onChange={(event) => setDisplayName(event.currentTarget.value)}
      />
      <TextInput
        label="Name"
        description={`For commands and addresses, unique ${unique}. It stays. ${NAME_RULE}`}
        value={name}
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setTyped(event.currentTarget.value)}
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
  const [name, setName] = useState(now);
  const shown = name.trim();
  const refusal = textRefusal(shown, 'name', 120) ?? (shown === now ? 'It is called so already.' : null);
  return (
    <DialogForm
      submitLabel="Rename"
      missing={refusal}
      isRunning={change.isRunning}
      error={change.error}
      command={command(shown)}
      onSubmit={() => onSubmit(shown)}
      onCancel={onCancel}
    >
      <TextInput
        label="Name shown to people"
        description="The name for commands and addresses stays."
        value={name}
        maxLength={120}
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </DialogForm>
  );
};
