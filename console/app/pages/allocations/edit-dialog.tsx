/** Rename, tag, protect, extend: one form, which sends only what was changed and only if nobody changed it meanwhile. */

import type { Allocation } from '@gpuaas/sdk';
import { Button, Group, Modal, NumberInput, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { exact } from '../../format/time.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { useNow } from '../../ui/time.tsx';
import { bodyOf, type EditForm, formOf, lifetimeOf, problemsOf, updateFlags } from './edit.ts';
import { useProjectFlags } from './hooks.ts';

const EXTENSIONS_H = [4, 24, 168] as const;
const extensionWord = (hours: number): string => (hours % 24 === 0 ? `+${hours / 24} d` : `+${hours} h`);

/** When it ends with what is typed, as a sentence. */
const endSentence = (form: EditForm, activatedAt: string | null): string => {
  const seconds = lifetimeOf(form);
  if (seconds === null) return 'Nothing ends it but you.';
  if (!Number.isFinite(seconds)) return '';
  return activatedAt === null
    ? 'Counted from when it becomes active.'
    : `Released by itself at ${exact(new Date(Date.parse(activatedAt) + seconds * 1000).toISOString())}.`;
};

export const EditDialog = ({ allocation, onClose }: Readonly<{ allocation: Allocation; onClose(): void }>) => {
  const now = useNow();
  // What it was when the dialog opened: the version that the change is made against.
  const [before] = useState(allocation);
  const [form, setForm] = useState(() => formOf(allocation));
  const change = useChange('allocationUpdate');
  const flags = useProjectFlags(before.project_id);
  const set = (part: Partial<EditForm>) => setForm((known) => ({ ...known, ...part }));
  const body = bodyOf(before, form);
  const problems = problemsOf(form, before.activated_at, now);
  const problem = Object.values(problems)[0] ?? (Object.keys(body).length === 0 ? 'Nothing is changed yet.' : null);
  const params = { project_id: before.project_id, allocation_id: before.id };

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (problem === null && (await change.run({ params, body }, { ifMatch: before.version })) !== null) onClose();
  };
  const extend = (hours: number) => {
    const base =
      form.hours.trim() === ''
        ? Math.max(0, now - Date.parse(before.activated_at ?? before.created_at)) / 3_600_000
        : Number(form.hours);
    set({ hours: String(Number((base + hours).toFixed(2))) });
  };

  return (
    <Modal opened onClose={onClose} title={<Text fw={600}>Edit {before.name}</Text>}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            data-autofocus
            value={form.name}
            error={problems.name}
            spellCheck={false}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
          <NumberInput
            label="Lifetime in hours, from when it became active"
            description={endSentence(form, before.activated_at)}
            placeholder="no end"
            min={0}
            value={form.hours}
            error={problems.hours}
            onChange={(value) => set({ hours: String(value) })}
          />
          <Group gap={6}>
            {EXTENSIONS_H.map((hours) => (
              <Button key={hours} size="xs" variant="default" onClick={() => extend(hours)}>
                {extensionWord(hours)}
              </Button>
            ))}
            <Button size="xs" variant="default" onClick={() => set({ hours: '' })}>
              No end
            </Button>
          </Group>
          <TagsInput
            label="Tags"
            description="Write key=value and press Enter."
            value={[...form.tags]}
            error={problems.tags}
            clearable
            onChange={(tags) => set({ tags })}
          />
          <Switch
            label="Protected"
            description="Release is refused until this is taken off, also at the end of its lifetime."
            checked={form.isProtected}
            onChange={(event) => set({ isProtected: event.currentTarget.checked })}
          />
          {change.error !== null && <ErrorPanel error={change.error} />}
          <CliCommand
            command={command(['allocation', 'update', before.name], [...updateFlags(before, body), ...flags])}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <ActionButton type="submit" loading={change.isRunning} disabledReason={problem}>
              Save
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
};
