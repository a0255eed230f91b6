/**
 * Releases an allocation. A protected one needs two requests, and the dialog shows both: protection is removed, then
 * the allocation is released. Its name has to be typed for that, because it cannot be undone.
 */

import type { Allocation } from '@gpuaas/sdk';
import { List } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { money } from '../../format/money.ts';
import { command } from '../../format/shell.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { isCharged, pricePerHour } from './cost.ts';
import { useProjectFlags } from './hooks.ts';

const commandsFor = (name: string, isProtected: boolean, flags: ReturnType<typeof useProjectFlags>): string =>
  [
    ...(isProtected ? [command(['allocation', 'update', name], [['no-protect', true], ...flags])] : []),
    command(['allocation', 'release', name], [['yes', true], ...flags]),
  ].join(' \\\n  && ');

export const ReleaseDialog = ({
  allocation,
  isOpen,
  onClose,
}: Readonly<{ allocation: Allocation; isOpen: boolean; onClose(): void }>) => {
  const unprotect = useChange('allocationUpdate');
  const release = useChange('allocationRelease');
  const flags = useProjectFlags(allocation.project_id);
  // As it was when the dialog opened: protection that has been removed since must not remove the question.
  const [wasProtected] = useState(allocation.is_protected);
  const [isOff, setOff] = useState(false);
  const { name, project_id, id, state } = allocation;
  const params = { project_id, allocation_id: id };

  const confirm = async (): Promise<boolean> => {
    if (allocation.is_protected && !isOff) {
      const done = await unprotect.run({ params, body: { is_protected: false } }, { ifMatch: allocation.version });
      if (done === null) return false;
      setOff(true);
    }
    return (await release.run({ params, body: {} })) !== null;
  };

  return (
    <ConfirmDialog
      title={state === 'release_failed' ? `Retry cleanup of ${name}` : `Release ${name}`}
      isOpen={isOpen}
      onClose={onClose}
      confirmLabel={wasProtected ? 'Unprotect and release' : 'Release'}
      isDestructive
      typeToConfirm={wasProtected ? name : undefined}
      isRunning={unprotect.isRunning || release.isRunning}
      error={unprotect.error ?? release.error}
      command={() => commandsFor(name, wasProtected, flags)}
      onConfirm={confirm}
    >
      <List size="sm" spacing={4}>
        {wasProtected && <List.Item>This allocation is protected. It is unprotected first, then released.</List.Item>}
        {isCharged(allocation) && (
          <List.Item>Charging ends now, {money(pricePerHour(allocation))} per hour less.</List.Item>
        )}
        <List.Item>Connections are closed and all programs stop.</List.Item>
        <List.Item>All disks are wiped and verified. The data cannot be recovered. Copy what you need first.</List.Item>
        <List.Item>
          The GPUs become schedulable only after the wipe is verified. You get a signed wipe certificate.
        </List.Item>
      </List>
      {isOff && release.error !== null && <p>Protection is removed. Only the release failed.</p>}
    </ConfirmDialog>
  );
};
