/**
 * Stop, start, reboot and reinstall of a slice. Each dialog states the effect on running programs and on disks, and
 * that charges continue while the VM is off.
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
    does: 'The guest OS gets 60 seconds to shut down, then the VM is powered off. Disks and IP address are kept. GPUs stay reserved, so charges continue until release.',
    hard: 'Power off immediately',
  },
  start: {
    title: 'Start',
    does: 'The VM powers on with the same IP address and disks.',
    hard: null,
  },
  reboot: {
    title: 'Reboot',
    does: 'All programs on the VM stop. Disks are kept. If the guest OS does not reboot, the VM is reset.',
    hard: 'Reset immediately',
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
            description="Unsaved data is lost."
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
