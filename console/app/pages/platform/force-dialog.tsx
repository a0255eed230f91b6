/** Releasing and cleaning up on a tenant's behalf. Both are audited with a reason; nothing but a verified wipe frees slots. */

import type { AdminAllocation } from '@gpuaas/sdk';
import { Checkbox, Group } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { isLive } from '../allocations/list.ts';

export type ForceRequest = Readonly<{ row: AdminAllocation; what: 'release' | 'cleanup' }>;

export const ForceButtons = ({ row, onAsk }: Readonly<{ row: AdminAllocation; onAsk(asked: ForceRequest): void }>) => {
  const refused = useMay()('admin.allocation.release');
  const { state } = row.allocation;
  const noRelease = !isLive({ state })
    ? 'The allocation has ended.'
    : state === 'releasing'
      ? 'Release is in progress.'
      : null;
  const hasClaims = row.claims.some(({ released_at }) => released_at === null);
  const isCleanable = ['releasing', 'release_failed', 'failed'].includes(state) && hasClaims;
  const noCleanup = isCleanable ? null : 'Cleanup is not blocked.';
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <ActionButton
        size="compact-sm"
        variant="default"
        disabledReason={refused ?? noRelease}
        onClick={() => onAsk({ row, what: 'release' })}
      >
        Release
      </ActionButton>
      <ActionButton
        size="compact-sm"
        variant="default"
        disabledReason={refused ?? noCleanup}
        onClick={() => onAsk({ row, what: 'cleanup' })}
      >
        Clean up
      </ActionButton>
    </Group>
  );
};

export const ForceDialog = ({ asked, onClose }: Readonly<{ asked: ForceRequest | null; onClose(): void }>) => {
  const release = useChange('adminAllocationForceRelease');
  const cleanup = useChange('adminAllocationForceCleanup');
  const [isAbsent, setAbsent] = useState(false);
  const id = asked?.row.allocation.id ?? '';
  const name = asked?.row.allocation.name ?? '';
  const isCleanup = asked?.what === 'cleanup';
  const change = isCleanup ? cleanup : release;
  const confirm = async (reason: string): Promise<boolean> => {
    const params = { allocation_id: id };
    const answer = isCleanup
      ? await cleanup.run({ params, body: { reason, runtime_verified_absent: isAbsent } })
      : await release.run({ params, body: { reason } });
    return answer !== null;
  };
  return (
    <ConfirmDialog
      title={isCleanup ? `Retry cleanup of ${name}` : `Release ${name} on behalf of the tenant`}
      isOpen={asked !== null}
      onClose={onClose}
      confirmLabel={isCleanup ? 'Retry cleanup' : 'Release'}
      isDestructive
      typeToConfirm={isCleanup ? undefined : name}
      asksReason
      isRunning={change.isRunning}
      error={change.error}
      command={(reason) =>
        command(
          ['admin', 'allocation', isCleanup ? 'force-cleanup' : 'force-release', id],
          [
            ['reason', reason],
            ['runtime-verified-absent', isCleanup && isAbsent],
          ],
        )
      }
      onConfirm={confirm}
    >
      {isCleanup ? (
        <>
          Cleanup restarts from its first step. Slots become schedulable only after a verified wipe.
          <Checkbox
            mt="xs"
            label="I verified on the host that the VM is gone"
            description="Skips only the stop step."
            checked={isAbsent}
            onChange={(event) => setAbsent(event.currentTarget.checked)}
          />
        </>
      ) : (
        'Charging ends now, even if protected. The disks are wiped and the data is lost.'
      )}
    </ConfirmDialog>
  );
};
