/**
 * Stop, start, reboot and reinstall of a slice. Each says before it is done what it does to what runs and to what is stored,
 * and that the charge goes on: whoever switches a machine off must not believe that it costs nothing then.
 */

import type { Allocation } from '@gpuaas/sdk';
import { Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { command, type Flag } from '../../format/shell.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { useProjectFlags } from './hooks.ts';
import { ReinstallDialog } from './reinstall-dialog.tsx';

export type PowerChange = 'stop' | 'start' | 'reboot' | 'reinstall';
type Simple = Exclude<PowerChange, 'reinstall'>;

const WORDS: Readonly<Record<Simple, Readonly<{ title: string; does: string; hard: string | null }>>> = {
  stop: {
    title: 'Stop',
    does: 'The machine is asked to shut down and switched off after 60 seconds. Its disks and address stay. Its GPUs are kept for it, so it is charged as before, until you release it.',
    hard: 'Switch it off at once, without asking it',
  },
  start: {
    title: 'Start',
    does: 'The machine is switched on again at the same address, with everything on its disks.',
    hard: null,
  },
  reboot: {
    title: 'Reboot',
    does: 'What runs on the machine ends. Everything on its disks stays. It is asked first, and reset when it does not listen.',
    hard: 'Reset it at once, without asking it',
  },
};

const SimpleDialog = ({
  allocation: { name, project_id, id },
  change,
  onClose,
}: Readonly<{ allocation: Allocation; change: Simple; onClose(): void }>) => {
  const [isHard, setHard] = useState(false);
  const stop = useChange('allocationStop');
  const start = useChange('allocationStart');
  const reboot = useChange('allocationReboot');
  const flags = useProjectFlags(project_id);
  const { title, does, hard } = WORDS[change];
  const params = { project_id, allocation_id: id };
  const body = isHard ? { is_hard: true } : {};
  const run = async (): Promise<boolean> => {
    if (change === 'stop') return (await stop.run({ params, body })) !== null;
    if (change === 'reboot') return (await reboot.run({ params, body })) !== null;
    return (await start.run({ params, body: {} })) !== null;
  };
  const used = { stop, start, reboot }[change];
  const all: readonly Flag[] = [['hard', hard !== null && isHard], ...flags];
  return (
    <ConfirmDialog
      title={`${title} ${name}`}
      isOpen
      onClose={onClose}
      confirmLabel={title}
      isRunning={used.isRunning}
      error={used.error}
      command={() => command(['allocation', change, name], all)}
      onConfirm={run}
    >
      <Stack gap="sm">
        <Text size="sm">{does}</Text>
        {hard !== null && (
          <Switch
            label={hard}
            description="What was not written to disk is lost."
            checked={isHard}
            onChange={(event) => setHard(event.currentTarget.checked)}
          />
        )}
      </Stack>
    </ConfirmDialog>
  );
};

export const PowerDialog = ({
  allocation,
  change,
  onClose,
}: Readonly<{ allocation: Allocation; change: PowerChange; onClose(): void }>) =>
  change === 'reinstall' ? (
    <ReinstallDialog allocation={allocation} onClose={onClose} />
  ) : (
    <SimpleDialog allocation={allocation} change={change} onClose={onClose} />
  );
