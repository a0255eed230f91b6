/**
 * Reads the host every minute and sends an inventory report: immediately when it changed, and every two minutes in any
 * case, so that changes in the control plane are noticed too. A failed read or report is repeated at the next interval;
 * an old report is never sent.
 */
import type { Inventory, NodeResponse } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { retryAfterMs } from '../control-plane/errors.ts';
import type { Host } from '../host/host.ts';
import { inventoryOf, type ReadContext, readHostState } from './read-host.ts';
import { clearLeftovers, redeclarePartitions, restoreNetwork } from './repair.ts';

export type ReconcileLoop = Readonly<{
  host: Host;
  state: string;
  now(): Date;
  send(inventory: Inventory): Promise<NodeResponse<'inventoryReport'>>;
  log: Log;
  signal: AbortSignal;
  interval_ms?: number;
  every_ms?: number;
}>;

const INTERVAL_MS = 60_000;
const EVERY_MS = 120_000;
/** Agents that were started together spread over time. */
const SPREAD = 0.1;

/** A change of this makes a report due; the time does not. */
const contentOf = ({ observed_at: _at, ...rest }: Inventory): string => JSON.stringify(rest);

export type Reconciler = Readonly<{ runOnce(): Promise<Inventory> }>;

/** One read after the other, with the state kept between them. */
export const createReconciler = (loop: Omit<ReconcileLoop, 'interval_ms' | 'signal'>): Reconciler => {
  const { host, state, now, log } = loop;
  const context: ReadContext = { host, state, now, no_report_since: new Map() };
  const repair = { host, state, log };
  let lastSent: Readonly<{ content: string; at: number }> | null = null;
  let cleared: readonly string[] = [];
  return {
    runOnce: async () => {
      const restored = await restoreNetwork(repair);
      const hostState = await readHostState(context);
      const declared = await redeclarePartitions(repair, hostState);
      const repaired = [...restored, ...declared, ...cleared];
      if (repaired.length > 0) log.warn({ repaired }, 'repaired the host');
      const after = declared.length > 0 ? await readHostState(context) : hostState;
      const inventory = await inventoryOf(context, after, repaired);
      const at = now().getTime();
      // Leftovers need a response: whether they may be removed.
      const hasLeftovers = inventory.leftovers.length > 0;
      const isDue = hasLeftovers || lastSent === null || at - lastSent.at >= (loop.every_ms ?? EVERY_MS);
      if (!isDue && lastSent?.content === contentOf(inventory)) return inventory;
      const response = await loop.send(inventory);
      lastSent = { content: contentOf(inventory), at };
      const removable = response.unclaimed.filter((id) => inventory.leftovers.includes(id));
      // Reported with the next read, which finds it gone.
      cleared = await clearLeftovers(repair, removable);
      return inventory;
    },
  };
};

/** Returns when the signal is aborted. */
export const runReconcileLoop = async (loop: ReconcileLoop): Promise<void> => {
  const reconciler = createReconciler(loop);
  let lastMessage = '';
  while (!loop.signal.aborted) {
    let delayMs = (loop.interval_ms ?? INTERVAL_MS) * (1 - SPREAD * Math.random());
    try {
      await reconciler.runOnce();
      lastMessage = '';
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err);
      if (message !== lastMessage) loop.log.warn({ err }, 'failed to compare the host with its bundle leases');
      lastMessage = message;
      delayMs = Math.max(delayMs, retryAfterMs(err));
    }
    await pause(delayMs, loop.signal);
  }
};
