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

export type Asked = Readonly<{ row: AdminAllocation; what: 'release' | 'cleanup' }>;

export const ForceButtons = ({ row, onAsk }: Readonly<{ row: AdminAllocation; onAsk(asked: Asked): void }>) => {
  const refused = useMay()('admin.allocation.release');
  const { state } = row.allocation;
  const noRelease = !isLive({ state }) ? 'It has ended.' : state === 'releasing' ? 'It is being released.' : null;
  const noCleanup = state === 'release_failed' ? null : 'Its cleanup is not blocked.';
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

export const ForceDialog = ({ asked, onClose }: Readonly<{ asked: Asked | null; onClose(): void }>) => {
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
      title={isCleanup ? `Clean up after ${name} again` : `Release ${name} for its tenant`}
      isOpen={asked !== null}
      onClose={onClose}
      confirmLabel={isCleanup ? 'Clean up' : 'Release'}
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
          The cleanup starts again from its first step. Its slots come back only with a verified wipe.
          <Checkbox
            mt="xs"
            label="I have seen on the host that its machine is gone"
            description="Skips stopping it, and nothing else."
            checked={isAbsent}
            onChange={(event) => setAbsent(event.currentTarget.checked)}
          />
        </>
      ) : (
        'Charging ends now, protection or not. Its disks are wiped; what is on them is lost.'
      )}
    </ConfirmDialog>
  );
};
