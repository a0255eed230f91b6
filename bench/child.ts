/** Programs that a benchmark starts and stops: each prints its address on its first matching line of output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export type Listening = Readonly<{ child: ChildProcess; url: string }>;

export const startListening = async (
  file: string,
  args: readonly string[],
  env: Record<string, string>,
  portOf: (line: string) => string | undefined,
): Promise<Listening> => {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = portOf(line);
    if (port === undefined) continue;
    child.stdout.resume();
    return { child, url: `http://127.0.0.1:${port}` };
  }
  throw new Error(`${file} ended before it listened`);
};

/** The API as it ships, on a free port, with a rate limit that no benchmark reaches. */
export const startApi = (databaseUrl: string, stateDir: string): Promise<Listening> =>
  startListening(
    'server/src/main.ts',
    ['--roles', 'gpuaas-api'],
    {
      DATABASE_URL: databaseUrl,
      GPUAAS_RATE_LIMIT_PER_MINUTE: '100000000',
      GPUAAS_LIMITS: 'all=100000000',
      GPUAAS_STATE_DIR: stateDir,
      GPUAAS_PORT: '0',
    },
    (line) => /"port":(\d+)/.exec(line)?.[1],
  );

export const stopChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
};
