/** A session that a person types into. The terminal is given back as it was, however the session ends. */
import type { SessionStream, StreamEnd } from '@gpuaas/sdk';
import type { Cli } from './context.ts';
import { createEscape } from './escape.ts';
import { receive, send } from './session.ts';

const CTRL_C = 0x03;

/** Passes every key on, Ctrl-C included. Answers how to give the terminal back; a second time does nothing. */
const takeTerminal = (): (() => void) => {
  if (process.stdin.isTTY !== true) return () => undefined;
  process.stdin.setRawMode(true);
  const restore = () => {
    process.off('exit', restore);
    process.stdin.setRawMode(false);
  };
  // Also where an error nobody expected ends the process.
  process.once('exit', restore);
  return restore;
};

const type = async (stream: SessionStream): Promise<void> => {
  // What is piped in may hold anything; only a person leaves by two keys.
  if (process.stdin.isTTY !== true) return send(stream, process.stdin);
  const keys = createEscape();
  for await (const bytes of process.stdin) {
    const { send: passed, leaves } = keys.feed(bytes as Uint8Array);
    if (passed.byteLength > 0) await stream.write(passed);
    if (leaves) return stream.close();
  }
  await stream.end();
};

/** Keys to a session that takes none still leave it. */
const watch = async (stream: SessionStream): Promise<void> => {
  if (process.stdin.isTTY !== true) return;
  const keys = createEscape();
  for await (const bytes of process.stdin) {
    const typed = bytes as Uint8Array;
    if (keys.feed(typed).leaves || typed.includes(CTRL_C)) return stream.close();
  }
};

export const interact = async (cli: Cli, stream: SessionStream, { reads = true } = {}): Promise<StreamEnd> => {
  const resized = () => stream.resize(process.stdout.columns, process.stdout.rows);
  const restore = takeTerminal();
  process.stdout.on('resize', resized);
  try {
    void (reads && stream.session.is_writable ? type(stream) : watch(stream)).catch(() => undefined);
    await receive(stream, process.stdout);
    return await stream.closed;
  } finally {
    process.stdout.off('resize', resized);
    restore();
    // The next line must not begin where the last program stopped writing.
    if (process.stdin.isTTY === true) process.stderr.write('\r\n');
    process.stdin.destroy();
    cli.signal.throwIfAborted();
  }
};
