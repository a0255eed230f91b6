/** The cleanup of an allocation, proven with complete evidence and without a host. */
import { type Database, PLATFORM } from '../src/db/client.ts';
import { listHeldSlots, type Stay } from '../src/db/lifecycle.ts';
import { judgeWipe } from '../src/domain/wipe.ts';
import { proveCleanup } from '../src/workflows/prove-cleanup.ts';
import type { TestAllocation } from './placement.ts';
import { cleanedUp, gpuReset, provenDisk } from './wipe-evidence.ts';

export const stayOn = ({ id, node_id }: Pick<TestAllocation, 'id' | 'node_id'>): Stay => ({
  allocation_id: id,
  node_id,
  move_id: null,
});

/** For a generation that is `behind` the slot's own. */
export const prove = (database: Database, made: TestAllocation, behind = 0): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    const targets = (await listHeldSlots(tx, stayOn(made))).map((slot) => ({
      slot_id: slot.id,
      serial: slot.nvme_serial,
      generation: slot.generation - behind,
      size_bytes: slot.nvme_size_bytes,
      gpu_pci_address: slot.gpu_pci_address,
    }));
    const disks = targets.map((target) => provenDisk(target));
    const gpu_resets = targets.map(({ gpu_pci_address }) => gpuReset(gpu_pci_address));
    const verdict = judgeWipe(cleanedUp(disks, { gpu_resets }), targets, {
      minimum: 'clear',
      created_at: new Date().toISOString(),
    });
    await proveCleanup(tx, stayOn(made), { task_id: 'tsk_test', node_id: made.node_id, verdict, may_try_again: false });
  });
