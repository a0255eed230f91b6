/**
 * Runs the test files that are its arguments, one after the other, in this process. A file that leaves global state
 * changed fails here, and the files after it do not start: they would depend on it.
 */
import { resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { END_MARK, startMark } from './reporter.ts';

const EVENTS = ['uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** own-cluster.ts names another cluster, and all files of a process use that one. */
const isOfRunner = (variable: string): boolean => variable.startsWith('GPUAAS_TEST_');

const valuesOf = (name: string, values: object): readonly (readonly [string, unknown])[] =>
  Object.entries(Object.getOwnPropertyDescriptors(values)).flatMap(([key, { value }]) =>
    value === undefined ? [] : [[`${name}.${key}`, value] as const],
  );

/** Global state that tests change, by name. */
const readState = (): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ['the working directory', process.cwd()],
    ['the umask', process.umask()],
    ['process.exitCode', process.exitCode],
    ['process.stdout.write', process.stdout.write],
    ['process.stderr.write', process.stderr.write],
    ...EVENTS.map((event) => [`the handlers of ${event}`, process.listenerCount(event)] as const),
    ...valuesOf('globalThis', globalThis),
    ...valuesOf('console', console),
  ]);

const changesIn = (state: ReadonlyMap<string, unknown>, env: NodeJS.ProcessEnv): readonly string[] => {
  const now = readState();
  // A new global object is that of a module, which every file can import.
  const changed = [...state.keys()].filter((name) => !Object.is(state.get(name), now.get(name)));
  const variables = Object.keys({ ...env, ...process.env }).filter(
    (name) => env[name] !== process.env[name] && !isOfRunner(name),
  );
  return [...changed, ...variables.map((name) => `process.env.${name}`)];
};

/**
 * Keeps the process running this long, because timers of tests may be unreferenced. After that, a promise that never
 * settles fails its test.
 */
const WAIT_MS = 60_000;

for (const file of process.argv.slice(2)) {
  void test(startMark(file), () => {});
  const state = readState();
  const env = { ...process.env };
  const wait = setTimeout(() => {}, WAIT_MS);
  let changed: readonly string[] = [];
  try {
    await import(pathToFileURL(resolve(file)).href);
    // Tests run in the order of their registration: this one runs after those of the file.
    await test(END_MARK, () => {
      changed = changesIn(state, env);
      if (changed.length > 0) throw new Error(`${file} changes ${changed.join(', ')} for the files after it.`);
    });
  } finally {
    clearTimeout(wait);
  }
  if (changed.length > 0) break;
}
