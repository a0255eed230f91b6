/** Starts the cleanup of a slot's allocation again. Only a verified wipe frees the slot. */
import type { Node, Slot } from '@gpuaas/sdk';
import { Checkbox, Stack } from '@mantine/core';
import { useState } from 'react';
import { command } from '../../format/shell.ts';
import { whyNot } from '../../ui/action-button.tsx';
import { ReasonAction } from './action-controls.tsx';

/** The slot generations of this allocation on the host, if newer than those in the database. */
const outrun = (slots: readonly Slot[], allocationId: string | null) =>
  slots.flatMap(({ id, slot_index, allocation_id, generation, host_generation }) =>
    allocation_id !== null && allocation_id === allocationId && host_generation !== null
      ? [{ slot_id: id, slot_index, generation, host_generation }]
      : [],
  );

export const RetryCleanup = ({ slot, slots }: Readonly<{ node: Node; slot: Slot; slots: readonly Slot[] }>) => {
  const [isAbsent, setAbsent] = useState(false);
  const [isAdopted, setAdopted] = useState(false);
  const ahead = outrun(slots, slot.allocation_id);
  const adopts = isAdopted && ahead.length > 0;
  return (
    <ReasonAction
      label="Retry cleanup"
      title={`Retry cleanup of slot ${slot.slot_index}`}
      disabledReason={whyNot(slot.actions, 'retry_cleanup')}
      isDestructive={adopts}
      operation="adminAllocationForceCleanup"
      request={(reason) => ({
        params: { allocation_id: slot.allocation_id ?? '' },
        body: {
          reason,
          runtime_verified_absent: isAbsent,
          ...(adopts
            ? { adopted_generations: ahead.map(({ slot_id, host_generation }) => ({ slot_id, host_generation })) }
            : {}),
        },
      })}
      command={(reason) =>
        command(
          ['admin', 'allocation', 'force-cleanup', slot.allocation_id ?? ''],
          [
            ['runtime-verified-absent', isAbsent],
            ['adopt-host-generation', adopts],
            ['reason', reason],
          ],
        )
      }
    >
      <Stack gap="sm">
        <span>
          Cleanup of allocation <span className="mono">{slot.allocation_id}</span> restarts from its first step. Slots
          become schedulable only after a verified wipe.
        </span>
        <Checkbox
          label="I verified on the host that the VM is gone"
          description="Skips only the stop step."
          checked={isAbsent}
          onChange={(event) => setAbsent(event.currentTarget.checked)}
        />
        {ahead.length > 0 && (
          <Checkbox
            label="Adopt the host generation"
            description={`The database was restored from a backup. Data on these slots may be wiped: ${ahead
              .map(
                ({ slot_index, generation, host_generation }) =>
                  `slot ${slot_index} has generation ${host_generation} on the host and ${generation} in the database`,
              )
              .join('; ')}.`}
            checked={isAdopted}
            onChange={(event) => setAdopted(event.currentTarget.checked)}
          />
        )}
      </Stack>
    </ReasonAction>
  );
};
