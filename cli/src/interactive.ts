/** An interactive session. The terminal mode is restored however the session ends. */
import type { SessionStream, StreamEnd } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { createEscape } from './escape.ts';
import type { Io } from './io.ts';
import { receive, send } from './session.ts';

const CTRL_C = 0x03;

/**
 * Passes every key on, including Ctrl-C. Returns a function that restores the terminal; calling it twice is harmless.
 */
const takeTerminal = ({ stdin }: Io): (() => void) => {
  if (stdin.isTTY !== true) return () => undefined;
  stdin.setRawMode?.(true);
  const restore = () => {
    process.off('exit', restore);
    stdin.setRawMode?.(false);
  };
  // Also if an unexpected error ends the process.
  process.once('exit', restore);
  return restore;
};

const type = async (stream: SessionStream, { stdin }: Io): Promise<void> => {
  // Piped input may contain anything; the escape keys work only at a terminal.
  if (stdin.isTTY !== true) return send(stream, stdin);
  const keys = createEscape();
  for await (const bytes of stdin) {
    const { send: passed, leaves } = keys.feed(bytes as Uint8Array);
    if (passed.byteLength > 0) await stream.write(passed);
    if (leaves) return stream.close();
  }
  await stream.end();
};

/** The escape keys also work in a read-only session. */
const watch = async (stream: SessionStream, { stdin }: Io): Promise<void> => {
  if (stdin.isTTY !== true) return;
  const keys = createEscape();
  for await (const bytes of stdin) {
    const typed = bytes as Uint8Array;
    if (keys.feed(typed).leaves || typed.includes(CTRL_C)) return stream.close();
  }
};

export const interact = async (cli: Cli, stream: SessionStream, { reads = true } = {}): Promise<StreamEnd> => {
  const { stdin, stdout, stderr } = cli.io;
  const resized = () => stream.resize(stdout.columns ?? 0, stdout.rows ?? 0);
  const restore = takeTerminal(cli.io);
  stdout.on('resize', resized);
  try {
    void (reads && stream.session.is_writable ? type(stream, cli.io) : watch(stream, cli.io)).catch(() => undefined);
    await receive(stream, stdout);
    return await stream.closed;
  } finally {
    stdout.off('resize', resized);
    restore();
    // The next line must not start where the last program stopped writing.
    if (stdin.isTTY === true) stderr.write('\r\n');
    stdin.destroy();
    cli.signal.throwIfAborted();
  }
};
