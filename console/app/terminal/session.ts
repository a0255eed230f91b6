/**
 * One connection of a terminal, from the ticket to the close reason. Bytes are drawn in parts, and the next part is
 * acknowledged when xterm has drawn the last, which allows the other end to send more.
 */
import type { SessionStream, StreamEnd } from '@gpuaas/sdk';

export type Size = Readonly<{ cols: number; rows: number }>;
/** Requests a ticket and opens the stream; each call is a new session. */
export type Connect = (size: Size, signal: AbortSignal) => Promise<SessionStream>;

export type SessionHooks = Readonly<{
  size: () => Size;
  /** Resolves when it is drawn. */
  draw: (bytes: Uint8Array) => Promise<void>;
  opened: (session: SessionStream['session']) => void;
  ready: () => void;
  /** The size of typed or pasted input that is not yet sent. */
  unsent: (bytes: number) => void;
  over: (sentence: string) => void;
}>;

export type Session = Readonly<{ type(input: string | Uint8Array): void; resize(size: Size): void; close(): void }>;

/** A large paste is encoded and sent in parts, so that the page stays responsive. */
const PART_CHARS = 32 * 1024;

/** Where a part may end: never inside a surrogate pair. */
const partEnd = (text: string, from: number): number => {
  const end = Math.min(text.length, from + PART_CHARS);
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code < 0xdc00 ? end - 1 : end;
};

export const sentenceOf = ({ reason, message, exit_code: code, signal }: StreamEnd): string => {
  if (reason !== 'ended') return message;
  if (signal !== null) return `The program was terminated by ${signal}.`;
  return code === null || code === 0 ? message : `The program exited with status ${code}.`;
};

const wordsOf = (err: unknown): string =>
  err instanceof Error && err.message ? err.message : 'The allocation cannot be reached.';

export const startSession = (connect: Connect, hooks: SessionHooks): Session => {
  const left = new AbortController();
  const encoder = new TextEncoder();
  let stream: SessionStream | null = null;
  const unsent: (string | Uint8Array)[] = [];
  let unsentLength = 0;
  let isSending = false;

  const send = async (to: SessionStream): Promise<void> => {
    if (isSending) return;
    isSending = true;
    try {
      for (let input = unsent.shift(); input !== undefined; input = unsent.shift()) {
        for (let at = 0; at < input.length && !left.signal.aborted; ) {
          const end = typeof input === 'string' ? partEnd(input, at) : input.length;
          await to.write(typeof input === 'string' ? encoder.encode(input.slice(at, end)) : input);
          unsentLength -= end - at;
          at = end;
          hooks.unsent(unsentLength);
        }
      }
    } catch {
      // The stream has ended and reports the reason.
    } finally {
      isSending = false;
    }
  };

  const run = async (): Promise<string> => {
    const size = hooks.size();
    stream = await connect(size, left.signal);
    if (left.signal.aborted) {
      stream.close();
      return '';
    }
    const open = stream;
    hooks.opened(open.session);
    open.ready.then(hooks.ready, () => undefined);
    const now = hooks.size();
    if (now.cols !== size.cols || now.rows !== size.rows) open.resize(now.cols, now.rows);
    for await (const bytes of open.bytes) {
      if (left.signal.aborted) break;
      await hooks.draw(bytes);
    }
    return sentenceOf(await open.closed);
  };
  run().then(
    (sentence) => {
      if (!left.signal.aborted) hooks.over(sentence);
      left.abort();
    },
    (err: unknown) => {
      if (!left.signal.aborted) hooks.over(wordsOf(err));
      left.abort();
    },
  );

  return {
    type: (input) => {
      if (stream === null || left.signal.aborted || !stream.session.is_writable) return;
      unsent.push(input);
      unsentLength += input.length;
      void send(stream);
    },
    resize: ({ cols, rows }) => stream?.resize(cols, rows),
    close: () => {
      left.abort();
      stream?.close();
    },
  };
};
