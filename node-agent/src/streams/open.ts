/** Opens the target of a session. Every failure becomes a sentence that the tenant may read. */
import type { Duplex } from 'node:stream';
import type { TaskParams } from '@gpuaas/contract/node';
import { addSessionKey, removeSessionKey } from '../authorized-keys.ts';
import { type Access, type Host, HostError } from '../host/host.ts';
import { findReach, type Reach, Refusal, refuseMoved } from './reach.ts';
import { consoleTarget, portTarget, type Target } from './target.ts';
import { createSessionKey, openShell } from './terminal.ts';

export type Opening = Readonly<{
  host: Host;
  access: Access;
  state: string;
  /** The SSH host keys that VMs reported, by name. */
  host_keys: Map<string, string>;
}>;
export type SessionParams = TaskParams<'stream.open'>;

/** A target, and its cleanup when the session ends. */
export type Opened = Readonly<{ target: Target; undo: () => Promise<void> }>;

const SSH_PORT = 22;
const KEYS_MS = 20_000;

/** The messages of the host are safe for tenants; any other error goes only to the log. */
const refusalOf = (error: unknown, otherwise: string): Refusal => {
  if (error instanceof Refusal) return error;
  const isPublic = error instanceof HostError && (error.code === 'blocked' || error.code === 'timeout');
  return new Refusal(isPublic ? error.message : otherwise, { cause: error });
};

const nothing = async (): Promise<void> => undefined;

const dial = async (
  opening: Opening,
  reach: Reach,
  params: SessionParams,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> => {
  const socket = await opening.access.dial({ address: reach.address, port }, signal);
  // Registered now: the VM may reset the connection before it is read, and the reader learns of the end anyway.
  socket.on('error', () => undefined);
  try {
    await refuseMoved(opening, params, reach);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
};

const openPort = async (
  opening: Opening,
  reach: Reach,
  params: SessionParams,
  port: number,
  signal: AbortSignal,
): Promise<Opened> => {
  try {
    return { target: portTarget(await dial(opening, reach, params, port, signal)), undo: nothing };
  } catch (error) {
    throw refusalOf(error, `Connecting to port ${port} of the VM failed. Retry in a moment.`);
  }
};

const openConsole = async ({ access }: Opening, { machine }: Reach): Promise<Opened> => {
  if (machine === null) throw new Refusal('A whole node has no serial console here. Use a terminal.');
  try {
    return { target: consoleTarget(await access.serial(machine)), undo: nothing };
  } catch (error) {
    throw refusalOf(error, 'The serial console could not be connected to. Try again in a moment.');
  }
};

/** A guest OS sends a report every other second, and a busy one takes longer than one read waits. */
const TRIES_MAX = 4;

const readHostKey = async ({ host }: Opening, { machine }: Reach, signal: AbortSignal): Promise<string> => {
  for (let tries = 0; tries < TRIES_MAX && !signal.aborted; tries++) {
    const key =
      machine === null ? await host.system.sshHostKey() : (await host.hypervisor.guest(machine))?.ssh_host_key;
    if (key !== null && key !== undefined) return key;
  }
  throw new Refusal('The VM has not reported its SSH host key yet.');
};

/**
 * The last reported host key is tried first, so that no session waits for the next report. A reinstalled VM has another
 * key: it is read again, and the shell is opened with the new key or not at all.
 */
const openWithHostKey = async (
  opening: Opening,
  reach: Reach,
  signal: AbortSignal,
  open: (hostKey: string) => Promise<Target>,
): Promise<Target> => {
  const name = reach.machine ?? '';
  const known = opening.host_keys.get(name);
  if (known !== undefined)
    try {
      return await open(known);
    } catch (error) {
      opening.host_keys.delete(name);
      const hostKey = await readHostKey(opening, reach, signal);
      if (hostKey === known || signal.aborted) throw error;
      opening.host_keys.set(name, hostKey);
      return open(hostKey);
    }
  const hostKey = await readHostKey(opening, reach, signal);
  opening.host_keys.set(name, hostKey);
  return open(hostKey);
};

const openTerminal = async (
  opening: Opening,
  reach: Reach,
  params: SessionParams,
  signal: AbortSignal,
): Promise<Opened> => {
  const key = await createSessionKey();
  const { allocation_id } = params;
  const undo = (): Promise<void> =>
    removeSessionKey(opening, allocation_id, key.authorized, AbortSignal.timeout(KEYS_MS));
  const reachAgain = reach.machine === null ? '' : ' The serial console is another way in.';
  let what = 'The key of this session could not be installed.';
  const { username } = reach;
  const { cols, rows } = params;
  try {
    const installed = addSessionKey(opening, allocation_id, key.authorized, signal);
    // The concurrent read of the host key may fail first.
    installed.catch(() => undefined);
    const target = await openWithHostKey(opening, reach, signal, async (host_key) => {
      await installed;
      what = 'The VM did not open a shell over SSH.';
      const socket = await dial(opening, reach, params, SSH_PORT, signal);
      return openShell({ socket, username, key, host_key, cols, rows }, signal);
    });
    return { target, undo };
  } catch (error) {
    const hostKey = refusalOf(error, what);
    throw Object.assign(new Refusal(`${hostKey.message}${reachAgain}`, { cause: error }), { undo });
  }
};

/** The cleanup left by a terminal that did not open. */
export const undoOf = (error: unknown): (() => Promise<void>) | undefined =>
  error instanceof Refusal && 'undo' in error ? (error.undo as () => Promise<void>) : undefined;

export const openTarget = async (opening: Opening, params: SessionParams, signal: AbortSignal): Promise<Opened> => {
  let reach: Reach;
  try {
    reach = await findReach(opening, params);
  } catch (error) {
    throw error instanceof Refusal
      ? error
      : new Refusal('The VM could not be found. Retry in a moment.', { cause: error });
  }
  switch (params.kind) {
    case 'ssh':
      return openPort(opening, reach, params, SSH_PORT, signal);
    case 'forward':
      if (params.port === null) throw new Refusal('A forward needs a port.');
      return openPort(opening, reach, params, params.port, signal);
    case 'console':
      return openConsole(opening, reach);
    case 'terminal':
      return openTerminal(opening, reach, params, signal);
  }
};
