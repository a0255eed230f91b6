/**
 * Which keys open what an allocation has here. A guest and an account are always told a whole set, and two parties change it:
 * the platform, by its tasks, and sessions, each with a key of its own that is there while the session is. So the platform's
 * set is written down as it told it, the keys of sessions are known to the process that has the sessions, and what is told is
 * both, by one at a time for each allocation.
 *
 * Whether keys of sessions may be over there is written down before they are told. An agent that died with sessions finds
 * that afterwards and tells the plain set.
 */
import { join } from 'node:path';
import { readIfThere, writeDurably } from './control-plane/durable.ts';
import { type Host, HostError } from './host/host.ts';
import { domainName } from './tasks/names.ts';

export type KeySet = Readonly<{
  allocation_id: string;
  /** Of a whole node: whose account. Null: the machine of a slice. */
  username: string | null;
  keys: readonly string[];
  /** Keys of sessions were told since the plain set was. */
  has_session_keys: boolean;
}>;
type KeyBook = Readonly<{ schema: 1; sets: readonly KeySet[] }>;
/** Where an agent keeps it, and whom it tells. */
type Place = Readonly<{ state: string; host: Host }>;

const pathOf = (state: string): string => join(state, 'authorized-keys.json');

export const readKeySets = async (state: string): Promise<readonly KeySet[]> => {
  const path = pathOf(state);
  try {
    const text = await readIfThere(path);
    if (text === undefined) return [];
    const book = JSON.parse(text) as Partial<KeyBook>;
    if (book.schema !== 1 || !Array.isArray(book.sets)) throw new Error('unsupported version');
    return book.sets;
  } catch (cause) {
    throw new HostError('host_error', `failed to read the tenant keys of this host: ${path}`, { cause });
  }
};

/** Whoever comes later waits; the entry goes when nobody does. */
const createTurns = () => {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
};
const fileTurns = createTurns();
const allocationTurns = createTurns();

const changeSets = (state: string, change: (sets: readonly KeySet[]) => readonly KeySet[]): Promise<void> =>
  fileTurns(pathOf(state), async () => {
    const before = await readKeySets(state);
    const sets = change(before);
    if (JSON.stringify(sets) === JSON.stringify(before)) return;
    try {
      await writeDurably(pathOf(state), JSON.stringify({ schema: 1, sets } satisfies KeyBook));
    } catch (cause) {
      throw new HostError('host_error', `failed to write the tenant keys of this host: ${pathOf(state)}`, {
        cause,
      });
    }
  });

/** A session does not make an account that is gone. */
const refuseGone = async ({ host }: Place, { username }: KeySet): Promise<void> => {
  if (username !== null && !(await host.system.hasUser(username)))
    throw new HostError('conflict', `user ${username} does not exist on this host`);
};

const findSet = async (state: string, allocationId: string): Promise<KeySet | undefined> =>
  (await readKeySets(state)).find((one) => one.allocation_id === allocationId);

const putSet = (state: string, set: KeySet): Promise<void> =>
  changeSets(state, (sets) => [...sets.filter((one) => one.allocation_id !== set.allocation_id), set]);

/** Keys of sessions that are open, by state folder and allocation. */
const sessionKeys = new Map<string, Set<string>>();
const placeOf = (state: string, allocationId: string): string => `${state}\n${allocationId}`;
const sessionsOf = (state: string, id: string): readonly string[] => [...(sessionKeys.get(placeOf(state, id)) ?? [])];

const tell = async ({ host, state }: Place, set: KeySet, signal: AbortSignal): Promise<void> => {
  const keys = [...set.keys, ...sessionsOf(state, set.allocation_id)];
  if (set.username !== null) return host.system.ensureUser({ username: set.username, ssh_public_keys: keys });
  if (host.access === undefined) throw new HostError('unsupported', 'This host cannot change SSH keys of running VMs.');
  return host.access.setGuestKeys(domainName(set.allocation_id), keys, signal);
};

type Told = Pick<KeySet, 'allocation_id' | 'username' | 'keys'>;

/** Written down for a machine that gets the keys with its start; one that holds keys of sessions goes on doing so. */
export const noteKeys = (state: string, told: Told): Promise<void> =>
  allocationTurns(placeOf(state, told.allocation_id), async () => {
    const before = await findSet(state, told.allocation_id);
    await putSet(state, { ...told, has_session_keys: before?.has_session_keys ?? false });
  });

/** The platform's whole set, written down and told. */
export const setKeys = (place: Place, told: Told, signal: AbortSignal): Promise<void> =>
  allocationTurns(placeOf(place.state, told.allocation_id), async () => {
    const has_session_keys = sessionsOf(place.state, told.allocation_id).length > 0;
    const before = await findSet(place.state, told.allocation_id);
    const set = { ...told, has_session_keys: has_session_keys || before?.has_session_keys === true };
    await putSet(place.state, set);
    await tell(place, set, signal);
    await putSet(place.state, { ...set, has_session_keys });
  });

/** Nothing is told for the allocation any more; `work` takes away what the keys opened. */
export const dropKeys = <T>(state: string, allocationId: string, work: () => Promise<T>): Promise<T> =>
  allocationTurns(placeOf(state, allocationId), async () => {
    sessionKeys.delete(placeOf(state, allocationId));
    await changeSets(state, (sets) => sets.filter((one) => one.allocation_id !== allocationId));
    return work();
  });

/** Refused where the platform's set is not known: telling anything would take the tenant's keys away. */
export const addSessionKey = (place: Place, allocationId: string, line: string, signal: AbortSignal): Promise<void> => {
  const { state } = place;
  const at = placeOf(state, allocationId);
  return allocationTurns(at, async () => {
    const set = await findSet(state, allocationId);
    if (set === undefined)
      throw new HostError('conflict', `the SSH keys of allocation ${allocationId} are unknown on this host`);
    await refuseGone(place, set);
    await putSet(state, { ...set, has_session_keys: true });
    const open = sessionKeys.get(at) ?? new Set<string>();
    sessionKeys.set(at, open.add(line));
    try {
      await tell(place, set, signal);
    } catch (error) {
      forget(at, line);
      throw error;
    }
  });
};

const forget = (at: string, line: string): void => {
  const open = sessionKeys.get(at);
  open?.delete(line);
  if (open?.size === 0) sessionKeys.delete(at);
};

export const removeSessionKey = (
  place: Place,
  allocationId: string,
  line: string,
  signal: AbortSignal,
): Promise<void> => {
  const at = placeOf(place.state, allocationId);
  // At once: a set that is told meanwhile is told without it.
  forget(at, line);
  return allocationTurns(at, async () => {
    // Its own turn to be added may have come only since.
    forget(at, line);
    const set = await findSet(place.state, allocationId);
    if (set === undefined) return;
    await refuseGone(place, set);
    await tell(place, set, signal);
    await putSet(place.state, { ...set, has_session_keys: sessionsOf(place.state, allocationId).length > 0 });
  });
};

/** Sets that still hold keys of sessions which nobody has. */
export const staleKeySets = async (state: string): Promise<readonly KeySet[]> =>
  (await readKeySets(state)).filter((set) => set.has_session_keys && sessionsOf(state, set.allocation_id).length === 0);

/** Tells one of those the plain set. */
export const restoreTenantKeys = (place: Place, allocationId: string, signal: AbortSignal): Promise<void> =>
  removeSessionKey(place, allocationId, '', signal);
