/**
 * The SSH keys of an allocation on this host. A VM or an account always gets a full set, and two parties change it: the
 * control plane by its tasks, and sessions, each with its own key while it lasts. So the set of the control plane is
 * stored, session keys are kept in memory, and both are installed together, one change at a time per allocation.
 *
 * Before session keys are installed, that fact is stored. An agent that died with open sessions finds it at its start
 * and installs the set without session keys.
 */
import { join } from 'node:path';
import { readIfThere, writeDurably } from './control-plane/durable.ts';
import { type Host, HostError } from './host/host.ts';
import { domainName } from './tasks/names.ts';

export type KeySet = Readonly<{
  allocation_id: string;
  /** For bare metal: the account. Null: the VM of a slice. */
  username: string | null;
  keys: readonly string[];
  /** Session keys were installed since the last set without them. */
  has_session_keys: boolean;
}>;
type KeyFile = Readonly<{ schema: 1; sets: readonly KeySet[] }>;
/** The agent's state directory and its host. */
type Place = Readonly<{ state: string; host: Host }>;

const pathOf = (state: string): string => join(state, 'authorized-keys.json');

export const readKeySets = async (state: string): Promise<readonly KeySet[]> => {
  const path = pathOf(state);
  try {
    const text = await readIfThere(path);
    if (text === undefined) return [];
    const book = JSON.parse(text) as Partial<KeyFile>;
    if (book.schema !== 1 || !Array.isArray(book.sets)) throw new Error('unsupported version');
    return book.sets;
  } catch (cause) {
    throw new HostError('host_error', `failed to read the tenant keys of this host: ${path}`, { cause });
  }
};

/** Later callers wait; the entry is removed when none wait. */
const createQueues = () => {
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
const fileQueue = createQueues();
const allocationQueue = createQueues();

const changeSets = (state: string, change: (sets: readonly KeySet[]) => readonly KeySet[]): Promise<void> =>
  fileQueue(pathOf(state), async () => {
    const before = await readKeySets(state);
    const sets = change(before);
    if (JSON.stringify(sets) === JSON.stringify(before)) return;
    try {
      await writeDurably(pathOf(state), JSON.stringify({ schema: 1, sets } satisfies KeyFile));
    } catch (cause) {
      throw new HostError('host_error', `failed to write the tenant keys of this host: ${pathOf(state)}`, {
        cause,
      });
    }
  });

/** A session does not create a missing account. */
const refuseRemoved = async ({ host }: Place, { username }: KeySet): Promise<void> => {
  if (username !== null && !(await host.system.hasUser(username)))
    throw new HostError('conflict', `user ${username} does not exist on this host`);
};

const findSet = async (state: string, allocationId: string): Promise<KeySet | undefined> =>
  (await readKeySets(state)).find((one) => one.allocation_id === allocationId);

const putSet = (state: string, set: KeySet): Promise<void> =>
  changeSets(state, (sets) => [...sets.filter((one) => one.allocation_id !== set.allocation_id), set]);

/** Keys of sessions that are open, by state directory and allocation. */
const sessionKeys = new Map<string, Set<string>>();
const placeOf = (state: string, allocationId: string): string => `${state}\n${allocationId}`;
const sessionsOf = (state: string, id: string): readonly string[] => [...(sessionKeys.get(placeOf(state, id)) ?? [])];

const installKeys = async ({ host, state }: Place, set: KeySet, signal: AbortSignal): Promise<void> => {
  const keys = [...set.keys, ...sessionsOf(state, set.allocation_id)];
  if (set.username !== null) return host.system.ensureUser({ username: set.username, ssh_public_keys: keys });
  if (host.access === undefined) throw new HostError('unsupported', 'This host cannot change SSH keys of running VMs.');
  return host.access.setGuestKeys(domainName(set.allocation_id), keys, signal);
};

type InstalledKeys = Pick<KeySet, 'allocation_id' | 'username' | 'keys'>;

/** Stored for a VM that gets the keys at its start; a VM with session keys keeps them. */
export const noteKeys = (state: string, told: InstalledKeys): Promise<void> =>
  allocationQueue(placeOf(state, told.allocation_id), async () => {
    const before = await findSet(state, told.allocation_id);
    await putSet(state, { ...told, has_session_keys: before?.has_session_keys ?? false });
  });

/** Stores and installs the control plane's full set. */
export const setKeys = (place: Place, told: InstalledKeys, signal: AbortSignal): Promise<void> =>
  allocationQueue(placeOf(place.state, told.allocation_id), async () => {
    const has_session_keys = sessionsOf(place.state, told.allocation_id).length > 0;
    const before = await findSet(place.state, told.allocation_id);
    const set = { ...told, has_session_keys: has_session_keys || before?.has_session_keys === true };
    await putSet(place.state, set);
    await installKeys(place, set, signal);
    await putSet(place.state, { ...set, has_session_keys });
  });

/** Ends key installation for the allocation; `work` removes what the keys opened. */
export const dropKeys = <T>(state: string, allocationId: string, work: () => Promise<T>): Promise<T> =>
  allocationQueue(placeOf(state, allocationId), async () => {
    sessionKeys.delete(placeOf(state, allocationId));
    await changeSets(state, (sets) => sets.filter((one) => one.allocation_id !== allocationId));
    return work();
  });

/** Refused if the control plane's set is not known: installing any set would remove the tenant's keys. */
export const addSessionKey = (place: Place, allocationId: string, line: string, signal: AbortSignal): Promise<void> => {
  const { state } = place;
  const at = placeOf(state, allocationId);
  return allocationQueue(at, async () => {
    const set = await findSet(state, allocationId);
    if (set === undefined)
      throw new HostError('conflict', `the SSH keys of allocation ${allocationId} are unknown on this host`);
    await refuseRemoved(place, set);
    await putSet(state, { ...set, has_session_keys: true });
    const open = sessionKeys.get(at) ?? new Set<string>();
    sessionKeys.set(at, open.add(line));
    try {
      await installKeys(place, set, signal);
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
  // At once: a set installed meanwhile does not contain it.
  forget(at, line);
  return allocationQueue(at, async () => {
    // Its addition may have been processed only since.
    forget(at, line);
    const set = await findSet(place.state, allocationId);
    if (set === undefined) return;
    await refuseRemoved(place, set);
    await installKeys(place, set, signal);
    await putSet(place.state, { ...set, has_session_keys: sessionsOf(place.state, allocationId).length > 0 });
  });
};

/** Sets that still contain keys of sessions that no longer exist. */
export const staleKeySets = async (state: string): Promise<readonly KeySet[]> =>
  (await readKeySets(state)).filter((set) => set.has_session_keys && sessionsOf(state, set.allocation_id).length === 0);

/** Installs one of those without session keys. */
export const restoreTenantKeys = (place: Place, allocationId: string, signal: AbortSignal): Promise<void> =>
  removeSessionKey(place, allocationId, '', signal);
