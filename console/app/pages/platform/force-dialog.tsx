/** Releasing and cleaning up on a tenant's behalf. Both are audited with a reason; nothing but a verified wipe frees slots. */

import { type AdminAllocation, CUSTODY_ALLOCATION_STATES } from '@gpuaas/sdk';
import { Checkbox, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { isLive } from '../allocations/list.ts';
import { useRestore } from '../nodes/restore-notice.tsx';

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
  const isCleanable = CUSTODY_ALLOCATION_STATES.some((one) => one === state) && hasClaims;
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
  const [chargeUntil, setChargeUntil] = useState('');
  const held = useRestore()?.held_nodes ?? [];
  const id = asked?.row.allocation.id ?? '';
  const name = asked?.row.allocation.name ?? '';
  const isCleanup = asked?.what === 'cleanup';
  const change = isCleanup ? cleanup : release;
  const isNodeHeld = held.some(({ node_id }) => node_id === asked?.row.node_id);
  const charge_until = !isCleanup && isNodeHeld ? chargeUntil.trim() : '';
  /** The next allocation has its own end. */
  const close = (): void => {
    setChargeUntil('');
    setAbsent(false);
    onClose();
  };
  const confirm = async (reason: string): Promise<boolean> => {
    const params = { allocation_id: id };
    const answer = isCleanup
      ? await cleanup.run({ params, body: { reason, runtime_verified_absent: isAbsent } })
      : await release.run({ params, body: { reason, ...(charge_until === '' ? {} : { charge_until }) } });
    return answer !== null;
  };
  return (
    <ConfirmDialog
      title={isCleanup ? `Retry cleanup of ${name}` : `Release ${name} on behalf of the tenant`}
      isOpen={asked !== null}
      onClose={close}
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
            ['charge-until', charge_until],
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
        <>
          {charge_until === '' ? 'Charging ends now' : `The charge ends at ${charge_until}`}, even if protected. The
          disks are wiped and the data is lost.
          {isNodeHeld && (
            <TextInput
              mt="xs"
              label="Charge until"
              description="The database was restored: when the host ended the allocation, if it did. Empty: now."
              placeholder="2026-05-01T00:00:00Z"
              value={chargeUntil}
              onChange={(event) => setChargeUntil(event.currentTarget.value)}
            />
          )}
        </>
      )}
    </ConfirmDialog>
  );
};
