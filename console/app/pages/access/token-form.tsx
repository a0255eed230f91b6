/** A new token: what it is for, what it may do, how long it lives, and for a person's own which project it reaches. */
import type { Operations, TokenCreated } from '@gpuaas/sdk';
import { Radio, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Change } from '../../api/change.ts';
import { command, type Flag } from '../../format/shell.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { textRefusal } from './names.ts';
import {
  DEFAULT_EXPIRY,
  EXPIRIES,
  type Reach,
  scopeChoices,
  scopeRefusal,
  scopesOf,
  secondsOf,
} from './token-choices.ts';

export type TokenBody = Operations['apiTokenCreate']['request']['body'];
type Choice = Readonly<{ value: string; label: string }>;

export const TokenForm = ({
  permissions,
  projects,
  words,
  flags,
  change,
  send,
  onCreated,
  onCancel,
}: Readonly<{
  /** What the owner of the token may do at most. */
  permissions: readonly string[];
  /** Those that the token can be bound to; null where it is bound already. */
  projects: readonly Choice[] | null;
  /** The command up to the name of the token. */
  words: readonly string[];
  flags: (projectId: string | null) => readonly Flag[];
  change: Pick<Change<'apiTokenCreate'>, 'isRunning' | 'error'>;
  send(body: TokenBody): Promise<TokenCreated | null>;
  onCreated(created: TokenCreated): void;
  onCancel(): void;
}>) => {
  const [name, setName] = useState('');
  const [reach, setReach] = useState<Reach>('read');
  const [some, setSome] = useState<string[]>([]);
  const [expiry, setExpiry] = useState<string>(DEFAULT_EXPIRY);
  const [projectId, setProjectId] = useState<string | null>(null);
  const scopes = scopesOf(reach, some);
  const submit = async () => {
    const body: TokenBody = {
      name: name.trim(),
      scopes: [...scopes],
      expires_in_s: secondsOf(expiry),
      ...(projectId === null ? {} : { project_id: projectId }),
    };
    const created = await send(body);
    if (created !== null) onCreated(created);
  };
  return (
    <DialogForm
      submitLabel="Create token"
      missing={textRefusal(name.trim(), 'purpose', 80) ?? scopeRefusal(reach, some)}
      isRunning={change.isRunning}
      error={change.error}
      command={command(
        [...words, name.trim() || 'NAME'],
        [...scopes.map((scope): Flag => ['scope', scope]), ['expires-in', expiry], ...flags(projectId)],
      )}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="What it is for"
        placeholder="Nightly training"
        value={name}
        maxLength={80}
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Radio.Group
        label="What it may do"
        description="Never more than its owner, also when the owner loses a role later."
        value={reach}
        onChange={(value) => setReach(value as Reach)}
      >
        <Stack gap={8} mt={6}>
          <Radio value="read" label="read" description="Looks at everything its owner may see, and changes nothing." />
          <Radio value="all" label="all" description="Everything its owner may do." />
          <Radio
            value="some"
            label="Chosen permissions"
            description="Only these; a prefix such as allocation.* is all that begin so."
          />
        </Stack>
      </Radio.Group>
      {reach === 'some' && (
        <TagsInput
          label="Permissions"
          placeholder="allocation.read"
          data={[...scopeChoices(permissions)]}
          value={some}
          maxDropdownHeight={220}
          onChange={setSome}
        />
      )}
      {projects !== null && (
        <Select
          label="Project"
          description="Bound to one project, it reaches nothing else."
          placeholder="All of yours"
          data={[...projects]}
          value={projectId}
          clearable
          searchable
          onChange={setProjectId}
        />
      )}
      <Select
        label="Ends after"
        description="A forgotten token ends by itself."
        data={EXPIRIES.map(({ value, label }) => ({ value, label }))}
        value={expiry}
        allowDeselect={false}
        onChange={(value) => setExpiry(value ?? DEFAULT_EXPIRY)}
      />
    </DialogForm>
  );
};
