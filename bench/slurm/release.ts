/**
 * Our side of a pair: a launch and its release, both through their services in the real pipeline, including audit rows.
 * The host's work in between, stopping the VM and wiping the disks, is left out, because nothing runs on the other side
 * either. Its evidence is generated here, and checked, stored and applied by the functions that the release workflow
 * calls. Acceptance and proof share a transaction, since there is no host between them.
 */
import { api } from '@gpuaas/contract';
import { findAllocation } from '../../server/src/db/allocation.ts';
import { type Database, PLATFORM, type Tx } from '../../server/src/db/client.ts';
import { type HeldSlot, listHeldSlots } from '../../server/src/db/lifecycle.ts';
import { judgeWipe } from '../../server/src/domain/wipe.ts';
import { mutate } from '../../server/src/pipeline/pipeline.ts';
import { release } from '../../server/src/services/allocation-release.ts';
import { proveCleanup } from '../../server/src/workflows/prove-cleanup.ts';
import { cleanedUp, gpuReset, provenDisk } from '../../server/test/wipe-evidence.ts';
import { contextFor, PRINCIPAL } from '../placement/context.ts';
import { createOnce, type Made } from '../placement/create.ts';

const prove = async (tx: Tx, id: string, slots: readonly HeldSlot[]): Promise<void> => {
  const targets = slots.map(({ id, nvme_serial, nvme_size_bytes, generation, gpu_pci_address }) => ({
    ...{ slot_id: id, serial: nvme_serial, generation, size_bytes: nvme_size_bytes },
    gpu_pci_address,
  }));
  const verdict = judgeWipe(
    cleanedUp(
      targets.map((target) => provenDisk(target)),
      { gpu_resets: slots.map(({ gpu_pci_address }) => gpuReset(gpu_pci_address)) },
    ),
    targets,
    { minimum: 'clear', created_at: new Date().toISOString() },
  );
  if (!verdict.is_verified) throw new Error(`the evidence is refused: ${verdict.reason}`);
  const node_id = slots[0]?.node_id ?? '';
  await proveCleanup(
    tx,
    { allocation_id: id, node_id, move_id: null },
    { task_id: `tsk_${id}`, node_id, verdict, may_try_again: false },
  );
};

/** One launch, released with proof. */
export const releaseOnce = async (database: Database, made: Made): Promise<void> => {
  const params = { project_id: made.project_id, allocation_id: made.id };
  await mutate(
    {
      ctx: contextFor(database, made, 'allocationRelease'),
      operation: api.allocationRelease,
      scope: { tenant_id: made.organization_id, principal_id: PRINCIPAL.id },
      role: 'project:member',
      policy: 'project:member holds allocation.release',
      params,
      idempotency_key: null,
      fingerprint: '',
    },
    async ({ tx, ...write }) => {
      // Acceptance does not change the holdings, so both queries are sent together.
      const [answer, slots] = await Promise.all([
        release({ tx, ...write }, { params, query: {}, body: {}, if_match: undefined, last_event_id: undefined }),
        findAllocation(tx, made.id).then((row) =>
          listHeldSlots(tx, { allocation_id: made.id, node_id: row?.node_id ?? '' }),
        ),
      ]);
      // The workflow does not act as the tenant.
      tx.enter(PLATFORM);
      await prove(tx, made.id, slots);
      return answer;
    },
  );
};

/** Pairs of launch and release per second, for this number of concurrent clients and seconds. */
export const pairRate = async (
  database: Database,
  clients: number,
  seconds: number,
  gpuCount: number,
): Promise<number> => {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < until) {
        await releaseOnce(database, await createOnce(database, gpuCount));
        done += 1;
      }
    }),
  );
  return (done * 1000) / (performance.now() - startedAt);
};

/** Pairs that ended in a complete release must leave no claims. */
export const countHeld = (database: Database): Promise<number> =>
  database.read(PLATFORM, async (reader) => {
    const { rows } = await reader.query<{ held: number }>(
      `select (select count(*) from allocation_resource_claims where released_at is null)
         + (select count(*) from node_resource_slots where status <> 'available')
         + (select count(*) from allocations where state <> 'released') as held`,
    );
    return Number(rows[0]?.held);
  });
