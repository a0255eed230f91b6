/**
 * A session in the CLI: how its bytes pass between the gateway and two streams of this process, and what its end means
 * for the caller. Output of the other end is passed on unchanged and never parsed here.
 *
 * Exit codes: that of the program if it ended normally; 0 if the user disconnected, or a connection without a program
 * ended. 4 access was revoked, 5 the allocation was released, 7 the connection, the host or the gateway disconnected,
 * or the exit status of the program is unknown, 8 the session expired.
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

/** How long the other end may take to confirm its end. */
const LAST_WORD_MS = 1_000;

/** As a shell reports that a program was ended by a signal. */
export const exitOfSignal = (name: string): number => {
  const signals: Readonly<Record<string, number>> = constants.signals;
  return 128 + (signals[name] ?? signals[`SIG${name}`] ?? 0);
};

/** After access was revoked or the VM released, the same command would be refused. */
const IS_OPEN_AGAIN: ReadonlySet<StreamEnd['reason']> = new Set([
  'ended',
  'agent_disconnected',
  'unreachable',
  'idle',
  'expired',
  'gateway_stopped',
  'connection_lost',
]);

/** The exit code of a session, or the error that says why it ended and how to connect again. */
export const codeOfEnd = (end: StreamEnd, again: readonly string[]): number => {
  if (end.exit_code !== null) return end.exit_code;
  if (end.signal !== null) return exitOfSignal(end.signal);
  // A terminal whose program did not report an exit status was ended from elsewhere; success is not known.
  const exit = end.reason === 'ended' && again[0] === 'terminal' ? 'transient' : EXIT_OF_END[end.reason];
  if (exit === 'ok') return EXIT.ok;
  const help = IS_OPEN_AGAIN.has(end.reason) ? `Connect again: ${commandLine(['gpuaas', ...again])}` : null;
  throw new CliError(exit, end.message, help);
};

/** Requests a ticket, connects, and shows the notice first. */
export const openSession = async (
  cli: Cli,
  options: Omit<ConnectOptions, 'signal' | 'WebSocket'>,
): Promise<SessionStream> => {
  const stream = await connect(await cli.client(), { ...options, signal: cli.signal });
  if (stream.session.notice !== null) cli.out.say(stream.session.notice);
  return stream;
};

/** Resolves when `output` has written it, so that unread data is not fetched; a closed output accepts nothing. */
const put = (output: Writable, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    output.write(bytes, () => resolve());
  });

/** Everything received, until the end. */
export const receive = async (stream: SessionStream, output: Writable): Promise<void> => {
  for await (const bytes of stream.bytes) await put(output, bytes);
};

/** Everything that is read, then the end of stream. */
export const send = async (stream: SessionStream, input: Readable): Promise<void> => {
  for await (const bytes of input) await stream.write(bytes as Uint8Array);
  await stream.end();
};

/** Joins a session with a connection; each direction ends separately. Returns how the session ended. */
export const join = async (stream: SessionStream, socket: Duplex): Promise<StreamEnd> => {
  // A peer that disconnected during a write or read needs no further handling.
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
 * Joins a session with the standard streams of this process. Standard output cannot be closed while the process runs,
 * so the end of the received data ends the session.
 */
export const joinProcess = async (stream: SessionStream, { stdin, stdout }: Io): Promise<StreamEnd> => {
  void send(stream, stdin).catch(() => undefined);
  await receive(stream, stdout);
  // Both directions have ended then, and the other end confirms it: a normal end and not a disconnected client.
  void stream.end().catch(() => undefined);
  await Promise.race([stream.closed, pause(LAST_WORD_MS, undefined, { ref: false })]);
  stream.close();
  stdin.destroy();
  return stream.closed;
};
