/**
 * The end of a charge that the database forgot. After a restore from a backup it charges allocations whose hosts ended them
 * since. An operator who compared the host names that time; the record, which the release has closed, is shortened to it.
 */
import { setChargeUntil } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { lockClosedUsage, shortenUsage } from '../db/usage.ts';
import { chargeEndRefusal } from '../domain/restore.ts';
import { usageCost } from '../domain/usage.ts';
import { AppError, conflict } from '../errors.ts';

/** For the audit row: what was charged before, and what is charged now. The caller has locked the allocation. */
export const endChargeAt = async (
  tx: Tx,
  allocationId: string,
  until: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const usage = await lockClosedUsage(tx, allocationId, until);
  const refusal = chargeEndRefusal(usage);
  if (refusal !== null) throw conflict(refusal.reason);
  if (usage === undefined || !usage.is_within)
    throw new AppError('invalid_request', 'The time is not within the charged time of the allocation.', {
      errors: [
        {
          pointer: '/body/charge_until',
          code: 'out_of_range',
          message: `must be between ${usage?.started_at} and ${usage?.ended_at}`,
        },
      ],
    });
  const cost = usageCost(usage, BigInt(usage.micros));
  await setChargeUntil(tx, allocationId, until);
  await shortenUsage(tx, usage.id, until, cost);
  return { charge_until: until, cost_minor_before: usage.cost_minor, cost_minor: Number(cost) };
};
