/**
 * Looks at the host every minute and tells the platform: at once when there is something new to say, and every two minutes
 * all the same, so that what has changed on the platform's side is noticed, too. A look or a report that fails is made again
 * at the next turn; nothing old is ever sent.
 */
import type { Inventory, NodeResponse } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { askedMs } from '../control-plane/errors.ts';
import type { Host } from '../host/host.ts';
import { inventoryOf, type Looking, readScene } from './read-host.ts';
import { clearLeftovers, redeclarePartitions, restoreNetwork } from './repair.ts';

export type ReconcileLoop = Readonly<{
  host: Host;
  state: string;
  now(): Date;
  send(inventory: Inventory): Promise<NodeResponse<'inventoryReport'>>;
  log: Log;
  signal: AbortSignal;
  look_ms?: number;
  every_ms?: number;
}>;

const LOOK_MS = 60_000;
const EVERY_MS = 120_000;
/** Agents that were started together do not stay together. */
const SPREAD = 0.1;

/** What a change of makes a report due: not the time. */
const gist = ({ observed_at: _at, ...rest }: Inventory): string => JSON.stringify(rest);

export type Reconciler = Readonly<{ turn(): Promise<Inventory> }>;

/** One look after the other, with what is remembered between them. */
export const createReconciler = (loop: Omit<ReconcileLoop, 'look_ms' | 'signal'>): Reconciler => {
  const { host, state, now, log } = loop;
  const looking: Looking = { host, state, now, silence: new Map() };
  const repair = { host, state, log };
  let lastSent: Readonly<{ gist: string; at: number }> | null = null;
  let cleared: readonly string[] = [];
  return {
    turn: async () => {
      const restored = await restoreNetwork(repair);
      const scene = await readScene(looking);
      const declared = await redeclarePartitions(repair, scene);
      const repaired = [...restored, ...declared, ...cleared];
      if (repaired.length > 0) log.warn({ repaired }, 'repaired the host');
      const seen = declared.length > 0 ? await readScene(looking) : scene;
      const inventory = await inventoryOf(looking, seen, repaired);
      const at = now().getTime();
      // What is left of somebody wants an answer: whether it may go.
      const isAsking = inventory.leftovers.length > 0;
      const isDue = isAsking || lastSent === null || at - lastSent.at >= (loop.every_ms ?? EVERY_MS);
      if (!isDue && lastSent?.gist === gist(inventory)) return inventory;
      const answer = await loop.send(inventory);
      lastSent = { gist: gist(inventory), at };
      const mayGo = answer.unclaimed.filter((id) => inventory.leftovers.includes(id));
      // Told with the next look, which finds it gone.
      cleared = await clearLeftovers(repair, mayGo);
      return inventory;
    },
  };
};

/** Returns when the signal is aborted. */
export const runReconcileLoop = async (loop: ReconcileLoop): Promise<void> => {
  const reconciler = createReconciler(loop);
  let lastMessage = '';
  while (!loop.signal.aborted) {
    let restMs = (loop.look_ms ?? LOOK_MS) * (1 - SPREAD * Math.random());
    try {
      await reconciler.turn();
      lastMessage = '';
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err);
      if (message !== lastMessage) loop.log.warn({ err }, 'failed to compare the host with its bundle leases');
      lastMessage = message;
      restMs = Math.max(restMs, askedMs(err));
    }
    await pause(restMs, loop.signal);
  }
};
