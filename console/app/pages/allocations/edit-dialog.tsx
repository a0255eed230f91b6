/** Renames, tags, protects or extends an allocation. Sends only changes, and only against the version that was shown. */

import type { Allocation } from '@gpuaas/sdk';
import { Button, Group, Modal, NumberInput, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command } from '../../format/shell.ts';
import { exact } from '../../format/time.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { useNow } from '../../ui/time.tsx';
import { bodyOf, type EditForm, formOf, maxDurationOf, problemsOf, updateFlags } from './edit.ts';
import { useProjectFlags } from './hooks.ts';

const EXTENSIONS_H = [4, 24, 168] as const;
const extensionWord = (hours: number): string => (hours % 24 === 0 ? `+${hours / 24} d` : `+${hours} h`);

/** When the allocation ends with the entered maximum duration. */
const endSentence = (form: EditForm, activatedAt: string | null): string => {
  const seconds = maxDurationOf(form);
  if (seconds === null) return 'The allocation runs until you release it.';
  if (!Number.isFinite(seconds)) return '';
  return activatedAt === null
    ? 'Counted from activation.'
    : `Released automatically at ${exact(new Date(Date.parse(activatedAt) + seconds * 1000).toISOString())}.`;
};

export const EditDialog = ({ allocation, onClose }: Readonly<{ allocation: Allocation; onClose(): void }>) => {
  const now = useNow();
  // The version that was open when editing started: the change is made against it.
  const [before] = useState(allocation);
  const { getInputProps, getValues, setFieldValue, onSubmit } = useForm<EditForm>({
    initialValues: formOf(allocation),
  });
  const form = getValues();
  const change = useChange('allocationUpdate');
  const flags = useProjectFlags(before.project_id);
  const body = bodyOf(before, form);
  const problems = problemsOf(form, before.activated_at, now);
  const problem = Object.values(problems)[0] ?? (Object.keys(body).length === 0 ? 'No changes to save.' : null);
  const params = { project_id: before.project_id, allocation_id: before.id };

  const submit = async () => {
    if (problem === null && (await change.run({ params, body }, { ifMatch: before.version })) !== null) onClose();
  };
  const extend = (hours: number) => {
    const base =
      form.hours.trim() === ''
        ? Math.max(0, now - Date.parse(before.activated_at ?? before.created_at)) / 3_600_000
        : Number(form.hours);
    setFieldValue('hours', String(Number((base + hours).toFixed(2))));
  };

  return (
    <Modal opened onClose={onClose} title={<Text fw={600}>Edit {before.name}</Text>}>
      <form onSubmit={onSubmit(() => void submit())}>
        <Stack gap="sm">
          <TextInput label="Name" data-autofocus spellCheck={false} {...getInputProps('name')} error={problems.name} />
          <NumberInput
            label="Maximum duration in hours, from activation"
            description={endSentence(form, before.activated_at)}
            placeholder="No limit"
            min={0}
            value={form.hours}
            error={problems.hours}
            onChange={(value) => setFieldValue('hours', String(value))}
          />
          <Group gap={6}>
            {EXTENSIONS_H.map((hours) => (
              <Button key={hours} size="xs" variant="default" onClick={() => extend(hours)}>
                {extensionWord(hours)}
              </Button>
            ))}
            <Button size="xs" variant="default" onClick={() => setFieldValue('hours', '')}>
              No limit
            </Button>
          </Group>
          <TagsInput
            label="Tags"
            description="Enter key=value and press Enter."
            clearable
            {...getInputProps('tags')}
            error={problems.tags}
          />
          <Switch
            label="Protected"
            description="Blocks release until unprotected, even after the maximum duration."
            {...getInputProps('isProtected', { type: 'checkbox' })}
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
