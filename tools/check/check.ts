/** A check: a name and a function that returns its result in one line, with details of a failure. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../gen/file.ts';

export type Outcome = Readonly<{ ok: boolean; line: string; details?: string }>;
export type Check = Readonly<{ name: string; run: () => Promise<Outcome> }>;

export const pass = (line: string): Outcome => ({ ok: true, line });
export const fail = (line: string, details: string): Outcome => ({ ok: false, line, details });

/** Findings, one per line; none is a pass. */
export const verdict = (findings: readonly string[], good: string): Outcome =>
  findings.length === 0 ? pass(good) : fail(`${findings.length} found`, findings.join('\n'));

export type Ended = Readonly<{ status: number | null; stdout: string; output: string }>;

/** Runs a tool of node_modules to its end, without a shell. */
export const runTool = (file: string, args: readonly string[], cwd: string = ROOT): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, 'node_modules', file), ...args], {
      cwd,
      env: { ...process.env, NO_COLOR: '1', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, stdout, output: output.trim() }));
  });

/** A check that is a tool: its exit status is the verdict. */
export const toolCheck = (name: string, file: string, args: readonly string[]): Check => ({
  name,
  run: async () => {
    const { status, output } = await runTool(file, args);
    return status === 0 ? pass('clean') : fail('failed', output);
  },
});
