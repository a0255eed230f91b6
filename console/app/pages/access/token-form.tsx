/** A new token: name, scopes, lifetime and, for a person's own token, the project it is bound to. */
import type { Operations, TokenCreated } from '@gpuaas/sdk';
import { Radio, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Change } from '../../api/change.ts';
import { command, type Flag } from '../../format/shell.ts';
import { textProblem } from '../../rules/name.ts';
import { DialogForm } from '../../ui/form-dialog.tsx';
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
type Values = { name: string; reach: Reach; some: string[]; expiry: string; projectId: string | null };
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
  /** All permissions of the token's owner. */
  permissions: readonly string[];
  /** Projects the token can be bound to; null if it already is. */
  projects: readonly Choice[] | null;
  /** The command up to the name of the token. */
  words: readonly string[];
  flags: (projectId: string | null) => readonly Flag[];
  change: Pick<Change<'apiTokenCreate'>, 'isRunning' | 'error'>;
  send(body: TokenBody): Promise<TokenCreated | null>;
  onCreated(created: TokenCreated): void;
  onCancel(): void;
}>) => {
  const form = useForm<Values>({
    initialValues: { name: '', reach: 'read', some: [], expiry: DEFAULT_EXPIRY, projectId: null },
  });
  const { reach, some, expiry, projectId } = form.getValues();
  const name = form.getValues().name.trim();
  const scopes = scopesOf(reach, some);
  const submit = async () => {
    const body: TokenBody = {
      name,
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
      missing={textProblem(name, 'token name', 80) ?? scopeRefusal(reach, some)}
      isRunning={change.isRunning}
      error={change.error}
      command={command(
        [...words, name || 'NAME'],
        [...scopes.map((scope): Flag => ['scope', scope]), ['expires-in', expiry], ...flags(projectId)],
      )}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextInput
        label="Name"
        placeholder="Nightly training"
        maxLength={80}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Radio.Group
        label="Scopes"
        description="A token never has more permissions than its owner, even after the owner loses a role."
        {...form.getInputProps('reach')}
      >
        <Stack gap={8} mt={6}>
          <Radio value="read" label="read" description="Reads everything its owner can read. Changes nothing." />
          <Radio value="all" label="all" description="All permissions of its owner." />
          <Radio
            value="some"
            label="Selected permissions"
            description="Only these. A prefix such as allocation.* covers all permissions that start with it."
          />
        </Stack>
      </Radio.Group>
      {reach === 'some' && (
        <TagsInput
          label="Permissions"
          placeholder="allocation.read"
          data={[...scopeChoices(permissions)]}
          maxDropdownHeight={220}
          {...form.getInputProps('some')}
        />
      )}
      {projects !== null && (
        <Select
          label="Project"
          description="A token bound to one project has no access to others."
          placeholder="All projects"
          data={[...projects]}
          clearable
          searchable
          {...form.getInputProps('projectId')}
        />
      )}
      <Select
        label="Expires after"
        data={EXPIRIES.map(({ value, label }) => ({ value, label }))}
        allowDeselect={false}
        {...form.getInputProps('expiry')}
      />
    </DialogForm>
  );
};
