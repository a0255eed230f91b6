/** Opens the target of a session. Every way in which that fails ends as a sentence that the tenant may read. */
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
  /** What machines said of their SSH host keys, by name. */
  host_keys: Map<string, string>;
}>;
export type SessionParams = TaskParams<'stream.open'>;

/** A target, and what is to be taken back when the session is over. */
export type Opened = Readonly<{ target: Target; undo: () => Promise<void> }>;

const SSH_PORT = 22;
const KEYS_MS = 20_000;

/** The host says of its guests only what a tenant may know; what else goes wrong is in the log. */
const saidBy = (error: unknown, otherwise: string): Refusal => {
  if (error instanceof Refusal) return error;
  const isSaid = error instanceof HostError && (error.code === 'blocked' || error.code === 'timeout');
  return new Refusal(isSaid ? error.message : otherwise, { cause: error });
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
  // From now on: the machine may reset it before anybody reads it, and whoever reads it hears of the end in any case.
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
    throw saidBy(error, `Connecting to port ${port} of the VM failed. Retry in a moment.`);
  }
};

const openConsole = async ({ access }: Opening, { machine }: Reach): Promise<Opened> => {
  if (machine === null) throw new Refusal('A whole node has no serial console here. Use a terminal.');
  try {
    return { target: consoleTarget(await access.serial(machine)), undo: nothing };
  } catch (error) {
    throw saidBy(error, 'The serial console could not be connected to. Try again in a moment.');
  }
};

/** A guest says a line about every other second, and a busy one takes longer than it is listened to at once. */
const ASKS_MAX = 4;

const askHostKey = async ({ host }: Opening, { machine }: Reach, signal: AbortSignal): Promise<string> => {
  for (let asked = 0; asked < ASKS_MAX && !signal.aborted; asked++) {
    const key =
      machine === null ? await host.system.sshHostKey() : (await host.hypervisor.guest(machine))?.ssh_host_key;
    if (key !== null && key !== undefined) return key;
  }
  throw new Refusal('The VM has not reported its SSH host key yet.');
};

/**
 * What a machine said last is tried first, so that nobody waits for its next line. One that was reinstalled has another key:
 * it is asked again, and the shell is opened with what it says now or not at all.
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
      const said = await askHostKey(opening, reach, signal);
      if (said === known || signal.aborted) throw error;
      opening.host_keys.set(name, said);
      return open(said);
    }
  const said = await askHostKey(opening, reach, signal);
  opening.host_keys.set(name, said);
  return open(said);
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
  const otherWay = reach.machine === null ? '' : ' The serial console is another way in.';
  let what = 'The key of this session could not be installed.';
  const { username } = reach;
  const { cols, rows } = params;
  try {
    const installed = addSessionKey(opening, allocation_id, key.authorized, signal);
    // Whoever asks for the host key meanwhile may fail first.
    installed.catch(() => undefined);
    const target = await openWithHostKey(opening, reach, signal, async (host_key) => {
      await installed;
      what = 'The VM did not open a shell over SSH.';
      const socket = await dial(opening, reach, params, SSH_PORT, signal);
      return openShell({ socket, username, key, host_key, cols, rows }, signal);
    });
    return { target, undo };
  } catch (error) {
    const said = saidBy(error, what);
    throw Object.assign(new Refusal(`${said.message}${otherWay}`, { cause: error }), { undo });
  }
};

/** What a terminal that did not open left to be taken back. */
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
