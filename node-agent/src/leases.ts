/**
 * The bundle leases of this host. A lease binds slots, with their devices and addresses, to one allocation; nothing is
 * written to a disk, bound or started without one. The record is one file, replaced atomically and synced before any
 * action, so it survives the agent. It also stores the newest generation of every slot: a task of an older claim is
 * refused even if the journal is lost.
 *
 * A lease ends by cleanup. An unused lease also expires, but only while nothing of it is on the host: no data written,
 * no domain, no port. An unreadable record is an error, never an empty one.
 */
import { join } from 'node:path';
import type { BundlePlan, TaskSlot } from '@gpuaas/contract/node';
import { readIfThere, writeDurably } from './control-plane/durable.ts';
import { HostError } from './host/host.ts';
import { type Slot, type StaleSlot, staleOutput, staleSentence, staleSlots } from './stale.ts';

export type Lease = Readonly<{
  allocation_id: string;
  slots: readonly TaskSlot[];
  plan: BundlePlan;
  taken_at: string;
  /** When it expires if it was never used. */
  expires_at: string;
  /** Since when something of it may be on the host. Only cleanup ends such a lease. */
  touched_at: string | null;
  /** Since when it is being cleaned. Nothing is cloned or started for it any more. */
  cleaning_since: string | null;
  /** Whether its VM should run. Written before the action, so a VM that was stopped on request is not drift. */
  wanted: Power;
}>;

export type Power = 'on' | 'off';

export type LeaseFile = Readonly<{
  schema: 1;
  /** The newest generation seen of each slot. */
  generations: Readonly<Record<string, number>>;
  leases: readonly Lease[];
}>;

const EMPTY: LeaseFile = { schema: 1, generations: {}, leases: [] };
const pathOf = (state: string): string => join(state, 'leases.json');

const codeOf = (err: unknown): string | undefined => (err as NodeJS.ErrnoException | undefined)?.code;

const parse = (text: string, path: string): LeaseFile => {
  const book = JSON.parse(text) as Partial<LeaseFile>;
  if (book.schema !== 1 || !Array.isArray(book.leases) || typeof book.generations !== 'object')
    throw new Error(`${path} is not a bundle lease record of this version`);
  // Entries of older agents, which could not stop a VM, lack the field: the VM should run.
  const leases = (book.leases as readonly (Omit<Lease, 'wanted'> & { wanted?: Power })[]).map((lease) => ({
    ...lease,
    wanted: lease.wanted ?? 'on',
  }));
  return { schema: 1, generations: book.generations ?? {}, leases };
};

export const readLeases = async (state: string): Promise<LeaseFile> => {
  const path = pathOf(state);
  try {
    const text = await readIfThere(path);
    return text === undefined ? EMPTY : parse(text, path);
  } catch (cause) {
    throw new HostError('host_error', `failed to read the bundle leases of this host: ${path}`, { cause });
  }
};

/** On disk when it returns, or not at all. */
const writeLeases = async (state: string, book: LeaseFile): Promise<void> => {
  const path = pathOf(state);
  try {
    await writeDurably(path, JSON.stringify(book));
  } catch (cause) {
    const isFull = codeOf(cause) === 'ENOSPC';
    const what = `failed to write the bundle leases of this host: ${path}${isFull ? '; free space, then try again' : ''}`;
    throw new HostError(isFull ? 'no_space' : 'host_error', what, { cause });
  }
};

/** Changes of one file are serialized; the entry is removed when none wait. */
const changing = new Map<string, Promise<unknown>>();

export const changeLeases = async (state: string, change: (book: LeaseFile) => LeaseFile): Promise<LeaseFile> => {
  const path = pathOf(state);
  const before = changing.get(path) ?? Promise.resolve();
  const mine = before
    .catch(() => undefined)
    .then(async () => {
      const old = await readLeases(state);
      const book = change(old);
      if (book !== old) await writeLeases(state, book);
      return book;
    });
  changing.set(path, mine);
  try {
    return await mine;
  } finally {
    if (changing.get(path) === mine) changing.delete(path);
  }
};

/** Contains the generations of this host: a control plane restored from a backup learns them from it. */
export class StaleGenerationError extends HostError {
  constructor(slots: readonly StaleSlot[]) {
    super('stale_generation', staleSentence(slots), { output: staleOutput(slots) });
  }
}

/** A slot that was given to a later claim is not changed for an earlier one. */
export const refuseStale = (book: LeaseFile, slots: readonly Slot[]): void => {
  const stale = staleSlots(slots, (slotId) => book.generations[slotId]);
  if (stale.length > 0) throw new StaleGenerationError(stale);
};

export const noteGenerations = (book: LeaseFile, slots: readonly Slot[]): LeaseFile => {
  const newer = slots.filter((slot) => slot.generation > (book.generations[slot.slot_id] ?? -1));
  if (newer.length === 0) return book;
  const seen = Object.fromEntries(newer.map((slot) => [slot.slot_id, slot.generation]));
  return { ...book, generations: { ...book.generations, ...seen } };
};

/** The parts of a lease on the host: the names of its domain and port. */
export type Present = Readonly<{ allocations: ReadonlySet<string>; ports: ReadonlySet<string> }>;

/** Expired, and nothing of it is on the host. */
export const isOver = (lease: Lease, now: Date, present: Present): boolean =>
  lease.touched_at === null &&
  lease.cleaning_since === null &&
  now.getTime() >= Date.parse(lease.expires_at) &&
  !present.allocations.has(lease.allocation_id) &&
  !present.ports.has(lease.plan.ovs_port);

/** Each device or address that one of the slots shares with a lease of another allocation, with its holder. */
export const findConflicts = (
  leases: readonly Lease[],
  allocationId: string,
  slots: readonly TaskSlot[],
): readonly string[] =>
  leases
    .filter((lease) => lease.allocation_id !== allocationId)
    .flatMap((lease) =>
      lease.slots.flatMap((held) =>
        slots.flatMap((slot) =>
          SHARED.filter(([, read]) => read(slot) === read(held)).map(
            ([what, read]) => `${what} ${read(slot)} is leased to allocation ${lease.allocation_id}`,
          ),
        ),
      ),
    );

const SHARED: ReadonlyArray<readonly [what: string, read: (slot: TaskSlot) => string]> = [
  ['slot', (slot) => slot.slot_id],
  ['GPU', (slot) => slot.gpu_pci_address],
  ['virtual function', (slot) => slot.fabric_vf_pci_address],
  ['disk', (slot) => slot.nvme_serial],
  ['MAC', (slot) => slot.mac_address.toLowerCase()],
  ['address', (slot) => slot.private_ip],
];

const isSameClaim = (lease: Lease, slots: readonly TaskSlot[]): boolean =>
  lease.slots.length === slots.length &&
  slots.every((slot) =>
    lease.slots.some((held) => held.slot_id === slot.slot_id && held.generation === slot.generation),
  );

const DEVICES = SHARED.filter(([what]) => what !== 'slot' && what !== 'address');

/** A slot of the same claim with other devices than those leased: the sender confuses this host with another. */
const refuseOtherDevices = (lease: Lease, slots: readonly TaskSlot[]): void => {
  for (const slot of slots) {
    const held = lease.slots.find((each) => each.slot_id === slot.slot_id);
    const other = held && DEVICES.find(([, read]) => read(held) !== read(slot));
    if (held !== undefined && other !== undefined) {
      const [what, read] = other;
      throw new HostError(
        'conflict',
        `slot ${slot.slot_id} is leased to allocation ${lease.allocation_id} with ${what} ${read(held)}, not ${read(slot)}`,
      );
    }
  }
};

export const findLease = (book: LeaseFile, allocationId: string): Lease | undefined =>
  book.leases.find((lease) => lease.allocation_id === allocationId);

/** The lease that allows a task to act on its slots. */
export const getLease = (book: LeaseFile, allocationId: string, slots: readonly TaskSlot[]): Lease => {
  refuseStale(book, slots);
  const lease = findLease(book, allocationId);
  if (lease === undefined)
    throw new HostError(
      'conflict',
      `allocation ${allocationId} has no bundle lease on this host; lease its bundle first`,
    );
  if (!isSameClaim(lease, slots))
    throw new HostError('conflict', `the lease of allocation ${allocationId} is for other slots or generations`);
  refuseOtherDevices(lease, slots);
  if (lease.cleaning_since !== null)
    throw new HostError('conflict', `allocation ${allocationId} has been in cleanup since ${lease.cleaning_since}`);
  return lease;
};

/** The lease of this exact claim, whatever its state; refused if its devices differ. */
export const findSameLease = (book: LeaseFile, allocationId: string, slots: readonly TaskSlot[]): Lease | undefined => {
  const lease = findLease(book, allocationId);
  if (lease === undefined || !isSameClaim(lease, slots)) return undefined;
  refuseOtherDevices(lease, slots);
  return lease;
};

export const putLease = (book: LeaseFile, lease: Lease): LeaseFile => ({
  ...noteGenerations(book, lease.slots),
  leases: [...book.leases.filter((each) => each.allocation_id !== lease.allocation_id), lease],
});

/** Records, before the first act, that something of the lease may be on the host from now on. */
export const touchLease = (state: string, allocationId: string, now: Date): Promise<LeaseFile> =>
  changeLeases(state, (book) => {
    const lease = findLease(book, allocationId);
    if (lease === undefined || lease.touched_at !== null) return book;
    return putLease(book, { ...lease, touched_at: now.toISOString() });
  });

/** Records, before the action, whether the VM should run from now on. Without a lease there is nothing to record. */
export const recordPower = (state: string, allocationId: string, wanted: Power): Promise<LeaseFile> =>
  changeLeases(state, (book) => {
    const lease = findLease(book, allocationId);
    return lease === undefined || lease.wanted === wanted ? book : putLease(book, { ...lease, wanted });
  });

/** The named slots are verified clean: they leave their leases, and a lease without slots ends. */
export const releaseSlots = (book: LeaseFile, slotIds: ReadonlySet<string>): LeaseFile => {
  if (!book.leases.some((lease) => lease.slots.some((slot) => slotIds.has(slot.slot_id)))) return book;
  return {
    ...book,
    leases: book.leases
      .map((lease) => ({ ...lease, slots: lease.slots.filter((slot) => !slotIds.has(slot.slot_id)) }))
      .filter((lease) => lease.slots.length > 0),
  };
};
