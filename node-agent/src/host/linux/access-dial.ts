/**
 * TCP connections to VMs and to the host itself. If the VM network is in its own namespace, a helper process in that
 * namespace opens the connection and passes back the open socket; no data flows through it. It is started on demand,
 * restarted if it died, and ends when idle or with the agent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect, isIPv4, Socket } from 'node:net';
import { HostError } from '../host.ts';

const DIAL_MS = 10_000;
/** A VM that disappears silently is detected after this time. */
const KEEP_ALIVE_MS = 30_000;
const IDLE_MS = 30_000;
const LOOPBACK = '127.0.0.1';

type Where = Readonly<{ host: string; port: number }>;
type Dial = (to: Where, signal: AbortSignal) => Promise<Socket>;

/** Names neither host nor address: it may be shown to a tenant. */
export const dialError = (code: string, port: number): HostError => {
  switch (code) {
    case 'ECONNREFUSED':
      return new HostError('blocked', `Nothing listens on port ${port} of the VM.`);
    case 'ETIMEDOUT':
      return new HostError('timeout', `The VM does not respond on port ${port}.`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return new HostError('blocked', 'The VM is not on its network.');
    default:
      return new HostError('host_error', `Connecting to port ${port} of the VM failed (${code}).`);
  }
};

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? 'unknown');

const dialHere: Dial = (to, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({
      ...to,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      socket.removeAllListeners('error');
      act();
    };
    const fail = (code: string): void =>
      settle(() => {
        socket.on('error', () => undefined);
        socket.destroy();
        reject(dialError(code, to.port));
      });
    const abort = (): void => fail('ABORTED');
    const timer = setTimeout(() => fail('ETIMEDOUT'), DIAL_MS);
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', (error) => fail(codeOf(error)));
    socket.once('connect', () => settle(() => resolve(socket)));
    if (signal.aborted) abort();
  });

/** Reads nothing from the connection: the first bytes belong to the receiver of the socket. */
const HELPER = `
const { connect } = require('node:net');
process.on('disconnect', () => process.exit());
process.on('message', ({ id, to }) => {
  const socket = connect({ ...to, noDelay: true });
  socket.pause();
  const timer = setTimeout(() => socket.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })), ${DIAL_MS});
  const report = (result, handle) => { clearTimeout(timer); if (process.connected) process.send(result, handle, () => undefined); };
  socket.once('error', (error) => report({ id, code: error.code ?? 'unknown' }));
  socket.once('connect', () => report({ id, code: null }, socket));
});
`;

type HelperMessage = Readonly<{ id: number; code: string | null }>;
type Waiter = (code: string | null, socket: Socket | undefined) => void;

const dialInNamespace = (prefix: readonly string[]): Dial => {
  const waiting = new Map<number, Waiter>();
  let helper: ChildProcess | undefined;
  let last = 0;
  let idle: NodeJS.Timeout | undefined;

  const onExit = (child: ChildProcess): void => {
    if (helper !== child) return;
    helper = undefined;
    for (const resolveWaiter of [...waiting.values()]) resolveWaiter('the connect helper exited', undefined);
  };
  const start = (): ChildProcess => {
    const argv = [...prefix, process.execPath, '-e', HELPER];
    const child = spawn(argv[0] ?? process.execPath, argv.slice(1), {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (message, handle) => {
      const { id, code } = message as HelperMessage;
      const socket = handle instanceof Socket ? handle : undefined;
      const resolveWaiter = waiting.get(id);
      if (resolveWaiter === undefined) socket?.destroy();
      else resolveWaiter(code, socket);
    });
    child.once('error', () => onExit(child));
    child.once('exit', () => onExit(child));
    // The helper must not keep a finished process alive.
    child.unref();
    child.channel?.unref();
    return child;
  };
  const stopWhenIdle = (): void => {
    const child = helper;
    if (waiting.size > 0 || child === undefined) return;
    child.channel?.unref();
    idle = setTimeout(() => {
      if (helper === child) helper = undefined;
      if (child.connected) child.disconnect();
    }, IDLE_MS).unref();
  };

  return (to, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(dialError('ABORTED', to.port));
      clearTimeout(idle);
      helper ??= start();
      helper.channel?.ref();
      last += 1;
      const id = last;
      const abort = (): void => waiting.get(id)?.('ABORTED', undefined);
      // The program has its own timeout; this one is for a program that hangs.
      const timer = setTimeout(() => waiting.get(id)?.('ETIMEDOUT', undefined), DIAL_MS + 2000);
      signal.addEventListener('abort', abort, { once: true });
      waiting.set(id, (code, socket) => {
        waiting.delete(id);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        stopWhenIdle();
        if (socket === undefined) return reject(dialError(code ?? 'unknown', to.port));
        socket.allowHalfOpen = true;
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        resolve(socket);
      });
      helper.send({ id, to }, (error) => {
        if (error !== null) waiting.get(id)?.('the connect helper exited', undefined);
      });
    });
};

export const createDial = (prefix: readonly string[]) => {
  const toGuest = prefix.length === 0 ? dialHere : dialInNamespace(prefix);
  return async (
    { address, port }: Readonly<{ address: string | null; port: number }>,
    signal: AbortSignal,
  ): Promise<Socket> => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new HostError('blocked', 'Invalid port.');
    if (address === null) return dialHere({ host: LOOPBACK, port }, signal);
    if (!isIPv4(address)) throw new HostError('blocked', 'Invalid VM address.');
    return toGuest({ host: address, port }, signal);
  };
};
