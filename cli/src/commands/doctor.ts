/** Checks the usual problems, in the order in which one hides the next; each line shows what to do. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GpuaasError } from '@gpuaas/sdk';
import { command } from '../command.ts';
import { configPath, permissionProblem } from '../config.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { discover, readPlatform } from '../login.ts';
import type { Settings } from '../settings.ts';
import { VERSION } from '../version.ts';

type Check = Readonly<{ check: string; result: 'ok' | 'warn' | 'fail'; detail: string; action: string | null }>;

const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail, action: null });
const warn = (check: string, detail: string, action: string): Check => ({ check, result: 'warn', detail, action });
const fail = (check: string, detail: string, action: string): Check => ({ check, result: 'fail', detail, action });

const API_VERSION = 'v1';
const SKEW_WARN_S = 5;
const SKEW_FAIL_S = 60;
const sentenceOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));

const checkConfig = async (path: string): Promise<Check> => {
  const problem = await permissionProblem(path);
  if (problem !== null) return fail('configuration', problem, `chmod 600 ${path}`);
  const [file, folder] = await Promise.all([path, dirname(path)].map((name) => stat(name).catch(() => null)));
  if (!file || !folder) return ok('configuration', `${path} does not exist yet`);
  if (process.platform !== 'win32' && (folder.mode & 0o022) !== 0)
    return fail('configuration', `${dirname(path)} is writable by other users.`, `chmod 700 ${dirname(path)}`);
  return ok('configuration', path);
};

const checkClock = (date: string | null): Check => {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs))
    return warn('clock', 'The server sends no time.', 'Compare your clock with another source.');
  // The header has whole seconds, so half a second is the best guess.
  const skew = Math.round((Date.now() - serverMs - 500) / 1000);
  const detail = `${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead of'} the server`;
  if (Math.abs(skew) > SKEW_FAIL_S)
    return fail('clock', `Your clock is ${detail}.`, 'Set the clock: tokens are rejected by time.');
  if (Math.abs(skew) > SKEW_WARN_S) return warn('clock', `Your clock is ${detail}.`, 'Enable time synchronization.');
  return ok('clock', 'within 5 s of the server');
};

const checkServer = async (cli: Cli, { url }: Settings): Promise<Check[]> => {
  try {
    const platform = await readPlatform(url, cli.signal);
    const checks = [ok('reachable', url)];
    const plain = new URL(url).protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(new URL(url).hostname);
    if (plain) checks.push(warn('encryption', `${url} is not encrypted.`, 'Use the https address.'));
    checks.push(
      platform.api_version === API_VERSION
        ? ok('version', `gpuaas ${VERSION}, API ${platform.api_version}`)
        : fail(
            'version',
            `This CLI uses API ${API_VERSION}; the server has ${platform.api_version || 'an unknown version'}.`,
            'Update this CLI.',
          ),
      checkClock(platform.date),
    );
    const issuer = await discover(platform.issuer, cli.signal).then(
      () => ok('issuer', platform.issuer),
      (err: unknown) =>
        fail('issuer', sentenceOf(err), 'Ask your operator whether the identity provider is up: gpuaas admin doctor'),
    );
    return [...checks, issuer];
  } catch (err) {
    if (cli.signal.aborted) throw err;
    return [
      fail(
        'reachable',
        sentenceOf(err),
        'Check the address (--url, GPUAAS_URL or the profile); on a laptop, start it with: make up',
      ),
    ];
  }
};

const checkSignIn = async (cli: Cli, { credential, profile_name }: Settings): Promise<Check> => {
  const source = credential === 'environment' ? 'GPUAAS_TOKEN' : `profile ${profile_name}`;
  if (credential === 'none') return fail('sign-in', 'You are not signed in.', 'gpuaas login');
  try {
    const me = await cli.me();
    return ok('sign-in', `${me.name} (${me.id}), from ${source}`);
  } catch (err) {
    if (cli.signal.aborted) throw err;
    const action = err instanceof GpuaasError ? err.help : null;
    return fail(
      'sign-in',
      sentenceOf(err),
      credential === 'environment' ? 'Set a valid GPUAAS_TOKEN.' : (action ?? 'gpuaas login'),
    );
  }
};

export const doctor = command({
  name: 'doctor',
  summary: 'Check connection, clock, sign-in and configuration',
  run: async (cli) => {
    const checks: Check[] = [await checkConfig(configPath(cli.env))];
    const settings = await cli.settings().catch((err: unknown) => {
      if (checks[0]?.result !== 'fail')
        checks.push(fail('configuration', sentenceOf(err), 'Correct or remove the file.'));
      return null;
    });
    if (settings !== null) {
      checks.push(...(await checkServer(cli, settings)));
      if (!checks.some(({ check, result }) => check === 'reachable' && result === 'fail'))
        checks.push(await checkSignIn(cli, settings));
    }
    if (cli.out.json) cli.out.item({ checks });
    else
      for (const { check, result, detail, action } of checks) {
        cli.out.print(`${result.padEnd(5)} ${check.padEnd(14)} ${detail}`);
        if (action !== null) cli.out.print(`${' '.repeat(21)}-> ${action}`);
      }
    const failed = checks.filter(({ result }) => result === 'fail').length;
    if (failed > 0) throw new CliError('failure', failed === 1 ? 'One check failed.' : `${failed} checks failed.`);
  },
});
