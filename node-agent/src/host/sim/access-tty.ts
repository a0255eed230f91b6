/**
 * The line discipline of a simulated terminal: input is echoed and delivered by lines, Ctrl-C interrupts, Ctrl-D ends.
 * Keys that need an editor, such as arrows, do nothing.
 */
import { StringDecoder } from 'node:string_decoder';

export type Tty = Readonly<{
  /** Input. Resolves when there is room for more: a paste waits for the program that reads it. */
  feed(bytes: Buffer): Promise<void>;
  /** The next line with its end; null at Ctrl-D, after an interrupt, or at the end of input. */
  read(): Promise<string | null>;
  /** No more input will come. */
  end(): void;
}>;

export type TtyOptions = Readonly<{ write: (text: string) => Promise<void>; interrupt: () => void }>;

/** The maximum type-ahead, in characters. */
const AHEAD_MAX = 256 * 1024;
/** A line that does not end is delivered in parts of this size. */
const LINE_MAX = 64 * 1024;
const TEXT = /\P{Cc}+/uy;
/** The rest of escape sequences: arrow and function keys, Alt with a key, and paste brackets. */
const ESCAPED = /\[[0-9;?]*[ -/]*[@-~]|O.|[^[O]/y;
const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

export const createTty = ({ write, interrupt }: TtyOptions): Tty => {
  const decoder = new StringDecoder('utf8');
  const ahead: (string | null)[] = [];
  let aheadLength = 0;
  let line = '';
  let rest = '';
  let isOver = false;
  let reader: ((line: string | null) => void) | null = null;
  let room: (() => void) | null = null;

  const hand = (text: string | null): void => {
    if (reader !== null) {
      const waiting = reader;
      reader = null;
      waiting(text);
      return;
    }
    ahead.push(text);
    aheadLength += text?.length ?? 0;
  };
  const madeRoom = (): void => {
    room?.();
    room = null;
  };
  const handLine = (end: string): void => {
    hand(line + end);
    line = '';
  };
  const erase = (): string => {
    const last = [...line].at(-1);
    if (last === undefined) return '';
    line = line.slice(0, -last.length);
    return WIDE.test(last) ? '\b\b  \b\b' : '\b \b';
  };

  /** The echo of one control character. */
  const control = (char: string): string => {
    switch (char) {
      case '\r':
      case '\n':
        handLine('\n');
        return '\r\n';
      case '\t':
        line += char;
        return char;
      case '\x7f':
      case '\b':
        return erase();
      case '\x15': {
        let echo = '';
        while (line !== '') echo += erase();
        return echo;
      }
      case '\x03':
        line = '';
        ahead.length = 0;
        aheadLength = 0;
        madeRoom();
        interrupt();
        reader?.(null);
        reader = null;
        return '^C\r\n';
      case '\x04':
        if (line === '') hand(null);
        else handLine('');
        return '';
      default:
        return '';
    }
  };

  const take = (text: string): string => {
    let echo = '';
    for (let at = 0; at < text.length; ) {
      TEXT.lastIndex = at;
      const plain = TEXT.exec(text)?.[0];
      if (plain !== undefined) {
        line += plain;
        echo += plain;
        at += plain.length;
        if (line.length > LINE_MAX) handLine('');
        continue;
      }
      const char = text[at] ?? '';
      if (char !== '\x1b') {
        echo += control(char);
        at += 1;
        continue;
      }
      ESCAPED.lastIndex = at + 1;
      const sequence = ESCAPED.exec(text)?.[0];
      if (sequence === undefined) {
        // The rest of the key sequence has not arrived; an incomplete sequence is not a key.
        rest = text.length - at < 32 ? text.slice(at) : '';
        return echo;
      }
      at += 1 + sequence.length;
    }
    return echo;
  };

  return {
    feed: async (bytes) => {
      const text = rest + decoder.write(bytes);
      rest = '';
      const echo = take(text);
      if (echo !== '') await write(echo);
      while (aheadLength > AHEAD_MAX && !isOver) {
        await new Promise<void>((resolve) => {
          room = resolve;
        });
      }
    },
    read: () => {
      const next = ahead.shift();
      if (next !== undefined) {
        aheadLength -= next?.length ?? 0;
        if (aheadLength <= AHEAD_MAX) madeRoom();
        return Promise.resolve(next);
      }
      if (isOver) return Promise.resolve(null);
      return new Promise((resolve) => {
        reader = resolve;
      });
    },
    end: () => {
      isOver = true;
      madeRoom();
      reader?.(null);
      reader = null;
    },
  };
};
