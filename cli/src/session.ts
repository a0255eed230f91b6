/**
 * A session at the command line: how its bytes go between the gateway and two streams of this process, and what its end means
 * to whoever called. What the other end says is passed on untouched and is never read here.
 *
 * Exit codes: that of the program where it ended by itself; 0 where whoever called left, or a line without a program ended.
 * 4 the right to be there was taken away, 5 the allocation was released, 7 the connection, the host or the gateway went away,
 * or how the program ended is not known, 8 its time was over.
 */
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectOptions, connect, type SessionStream, type StreamEnd } from '@gpuaas/sdk';
import { commandLine } from './clean.ts';
import type { Cli } from './context.ts';
import { CliError, EXIT } from './exit.ts';
import type { Io } from './io.ts';

const EXIT_OF_END = {
  ended: 'ok',
  client_disconnected: 'ok',
  agent_disconnected: 'transient',
  unreachable: 'transient',
  released: 'conflict',
  revoked: 'auth',
  idle: 'timeout',
  expired: 'timeout',
  gateway_stopped: 'transient',
  protocol_error: 'failure',
  connection_lost: 'transient',
} as const satisfies Readonly<Record<StreamEnd['reason'], keyof typeof EXIT>>;

/** How long the other end may take to say that it ended. */
const LAST_WORD_MS = 1_000;

/** As a shell says that a program ended by a signal. */
export const exitOfSignal = (name: string): number => {
  const signals: Readonly<Record<string, number>> = constants.signals;
  return 128 + (signals[name] ?? signals[`SIG${name}`] ?? 0);
};

/** Where a right or the machine was taken away, the same command would be refused. */
const IS_OPEN_AGAIN: ReadonlySet<StreamEnd['reason']> = new Set([
  'ended',
  'agent_disconnected',
  'unreachable',
  'idle',
  'expired',
  'gateway_stopped',
  'connection_lost',
]);

/** The exit code of a session, or the error that says why it is over and how to connect again. */
export const codeOfEnd = (end: StreamEnd, again: readonly string[]): number => {
  if (end.exit_code !== null) return end.exit_code;
  if (end.signal !== null) return exitOfSignal(end.signal);
  // A terminal whose program did not say how it ended was ended from elsewhere; that it went well is not known.
  const exit = end.reason === 'ended' && again[0] === 'terminal' ? 'transient' : EXIT_OF_END[end.reason];
  if (exit === 'ok') return EXIT.ok;
  const help = IS_OPEN_AGAIN.has(end.reason) ? `Connect again: ${commandLine(['gpuaas', ...again])}` : null;
  throw new CliError(exit, end.message, help);
};

/** Asks for a ticket, connects, and shows what must be known first. */
export const openSession = async (
  cli: Cli,
  options: Omit<ConnectOptions, 'signal' | 'WebSocket'>,
): Promise<SessionStream> => {
  const stream = await connect(await cli.client(), { ...options, signal: cli.signal });
  if (stream.session.notice !== null) cli.out.say(stream.session.notice);
  return stream;
};

/** Done when `output` has passed it on, so that what nobody reads is not fetched; whoever went away takes nothing. */
const put = (output: Writable, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    output.write(bytes, () => resolve());
  });

/** Everything that comes, until nothing more does. */
export const receive = async (stream: SessionStream, output: Writable): Promise<void> => {
  for await (const bytes of stream.bytes) await put(output, bytes);
};

/** Everything that is read, then that there is no more. */
export const send = async (stream: SessionStream, input: Readable): Promise<void> => {
  for await (const bytes of input) await stream.write(bytes as Uint8Array);
  await stream.end();
};

/** Joins a session with a connection; each direction ends by itself. Answers how the session ended. */
export const join = async (stream: SessionStream, socket: Duplex): Promise<StreamEnd> => {
  // Who went away while it was written to or read from has said all there is to say.
  const gone = () => stream.close();
  socket.once('error', gone);
  const sent = send(stream, socket).catch(gone);
  await receive(stream, socket);
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.end(() => resolve());
  });
  await Promise.race([sent, stream.closed]);
  stream.close();
  socket.destroy();
  return stream.closed;
};

/**
 * Joins a session with this process's own streams. Standard output cannot be closed while the process lives, so the end of
 * what comes is the end of all.
 */
export const joinProcess = async (stream: SessionStream, { stdin, stdout }: Io): Promise<StreamEnd> => {
  void send(stream, stdin).catch(() => undefined);
  await receive(stream, stdout);
  // Both directions are over then, and the other end says so: an end of its own and not a client that left.
  void stream.end().catch(() => undefined);
  await Promise.race([stream.closed, pause(LAST_WORD_MS, undefined, { ref: false })]);
  stream.close();
  stdin.destroy();
  return stream.closed;
};
