/**
 * The simulated shell: one line, or lines until the end. Like bash it exits with the code of the last command, 127 for
 * an unknown command and 130 after an interrupt.
 */
import { PassThrough } from 'node:stream';
import { COMMANDS, type Streams } from './access-commands.ts';
import type { Inside } from './access-guest.ts';
import { parse, type Simple, SyntaxProblem } from './access-parse.ts';

const NOT_FOUND = 127;
const MISUSE = 2;
const INTERRUPTED = 130;
const SHELL = 'bash';
/** A placeholder in a word for the exit code of the last command, which is known only when the word is used. */
const LAST = '\0';

const nothing = async function* (): AsyncGenerator<Uint8Array> {};

type Ended = Readonly<{ code: number; isExit: boolean }>;

/** Resolves when the stream accepts more, or is closed. */
export const written = (to: NodeJS.WritableStream, bytes: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    if (!to.writable || to.write(bytes)) return resolve();
    const done = (): void => {
      to.off('drain', done);
      to.off('close', done);
      resolve();
    };
    to.once('drain', done);
    to.once('close', done);
  });

export const createShell = (inside: Inside) => {
  let last = 0;
  const expand = (word: string): string => word.replaceAll(LAST, String(last));
  const variable = (name: string): string =>
    ({ '?': LAST, HOME: inside.files.home, USER: inside.username, HOSTNAME: inside.hostname })[name] ?? '';

  const runSimple = async ({ argv, input, output, append }: Simple, io: Streams): Promise<number> => {
    const [name = '', ...args] = argv.map(expand);
    const run = COMMANDS[name];
    if (run === undefined || !Object.hasOwn(COMMANDS, name)) {
      await io.err(`${SHELL}: ${name}: command not found\n`);
      return NOT_FOUND;
    }
    const { files } = inside;
    let streams = io;
    if (input !== null) {
      const path = files.resolve(input);
      if (input !== '/dev/null' && files.kind(path) !== 'file') {
        await io.err(`${SHELL}: ${input}: No such file or directory\n`);
        return 1;
      }
      streams = { ...streams, input: input === '/dev/null' ? nothing() : intoStream(files.read(path)) };
    }
    if (output === '/dev/null') streams = { ...streams, out: async () => undefined };
    else if (output === '/dev/stderr')
      streams = { ...streams, out: (bytes) => io.err(String(typeof bytes === 'string' ? bytes : Buffer.from(bytes))) };
    else if (output !== null) {
      const path = files.resolve(output);
      if (!append && !files.truncate(path)) {
        await io.err(`${SHELL}: ${output}: No such file or directory\n`);
        return 1;
      }
      let isFull = false;
      const out = async (bytes: string | Uint8Array): Promise<void> => {
        const at = files.kind(path) === 'file' ? files.size(path) : 0;
        if (!isFull && !files.write(path, at, Buffer.from(bytes))) {
          isFull = true;
          await io.err(`${name}: write error: No space left on device\n`);
        }
      };
      const code = await run(args, inside, { ...streams, out });
      return isFull ? 1 : code;
    }
    return run(args, inside, streams);
  };

  /** All run at once; output after the end of the last one is dropped. */
  const runPipe = async (pipe: readonly Simple[], io: Streams): Promise<number> => {
    const over = new AbortController();
    const signal = AbortSignal.any([io.signal, over.signal]);
    let input = io.input;
    const others: Promise<unknown>[] = [];
    for (const simple of pipe.slice(0, -1)) {
      const between = new PassThrough();
      between.on('error', () => undefined);
      signal.addEventListener('abort', () => between.destroy(), { once: true });
      const end = runSimple(simple, { ...io, signal, input, out: (bytes) => written(between, bytes) });
      others.push(end.catch(() => 1).finally(() => between.end()));
      input = between;
    }
    const [last] = pipe.slice(-1);
    try {
      return last === undefined ? 0 : await runSimple(last, { ...io, input });
    } finally {
      over.abort();
      await Promise.all(others);
    }
  };

  /** One line. An interrupted command, or one without a reader, ends silently. */
  const run = async (line: string, io: Streams): Promise<Ended> => {
    try {
      for (const { after, pipe } of parse(line, variable)) {
        if (after === 'success' ? last !== 0 : after === 'failure' && last === 0) continue;
        const [first] = pipe;
        if (pipe.length === 1 && first?.argv[0] === 'exit') {
          return { code: Number(expand(first.argv[1] ?? LAST)) & 0xff, isExit: true };
        }
        last = await runPipe(pipe, io);
        if (io.signal.aborted) last = INTERRUPTED;
        if (last === INTERRUPTED) break;
      }
    } catch (err) {
      if (err instanceof SyntaxProblem) {
        await io.err(`${SHELL}: ${err.message}\n`);
        last = MISUSE;
      } else if (io.signal.aborted) last = INTERRUPTED;
      else throw err;
    }
    return { code: last, isExit: false };
  };

  return {
    run,
    prompt: `${inside.username}@${inside.hostname}:~$ `,
    welcome: `Welcome to ${inside.hostname}, a simulated VM (Linux ${inside.kernel}). Type help.\n\n`,
  };
};

async function* intoStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
