/**
 * `slice.bundle_lease`: the plan of a bundle and the lease for it. It validates, records and returns the lease, and
 * changes nothing else on the host. Repeating it returns the same lease.
 */

import { HostError } from '../host/host.ts';
import { changeLeases, findLease, findSameLease, isOver, putLease, readLeases, refuseStale } from '../leases.ts';
import { readAddress } from './address.ts';
import { planBundle } from './bundle-plan.ts';
import { presentOn, readLiveHost } from './live-host.ts';
import type { TaskHandler } from './task.ts';
import { slotKeys, withLocks } from './task-locks.ts';

/** Long enough for any provisioning that is still wanted; a lease in use does not expire. */
const UNUSED_MS = 2 * 60 * 60_000;

/** Lease decisions of one host are serialized: each must see the earlier leases. */
const DECISION = 'decision';

export const bundleLease: TaskHandler<'slice.bundle_lease'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), () =>
    withLocks(ctx, [DECISION], async (act) => {
      const { allocation_id: allocationId, slots } = params;
      const known = await readLeases(ctx.state);
      refuseStale(known, slots);
      const mine = findLease(known, allocationId);
      if (mine?.cleaning_since != null)
        throw new HostError('conflict', `allocation ${allocationId} has been in cleanup since ${mine.cleaning_since}`);
      if (mine?.touched_at != null) {
        if (findSameLease(known, allocationId, slots) !== undefined) return { plan: mine.plan };
        throw new HostError(
          'conflict',
          `allocation ${allocationId} holds other slots here; they must be cleaned first`,
        );
      }
      const live = await act('reading the host', readLiveHost(ctx.host));
      const now = ctx.now();
      const held = known.leases.filter((lease) => !isOver(lease, now, presentOn(live)));
      const plan = planBundle(live, params, held);
      await act('reading the address', readAddress(ctx.host.network, plan));
      await changeLeases(ctx.state, (book) =>
        putLease(
          { ...book, leases: book.leases.filter((lease) => !isOver(lease, now, presentOn(live))) },
          {
            allocation_id: allocationId,
            slots,
            plan,
            taken_at: now.toISOString(),
            expires_at: new Date(now.getTime() + UNUSED_MS).toISOString(),
            touched_at: null,
            cleaning_since: null,
            // A VM should run from the moment it is started.
            wanted: 'off',
          },
        ),
      );
      return { plan };
    }),
  );
