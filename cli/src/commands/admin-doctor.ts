/** The checks of the whole site, made by the server. `gpuaas doctor` checks this machine and its sign-in. */
import { type Operations, SITE_CHECK_STATES } from '@gpuaas/sdk';
import { command } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';

type Site = Operations['adminDoctorGet']['response'];
type Check = Site['checks'][number];

const WORD: Readonly<Record<Check['state'], string>> = {
  ok: 'ok',
  warning: 'warning',
  failed: 'failed',
  unknown: 'unknown',
  not_configured: 'not used',
};
const STATE_WIDTH = 9;

const count = (checks: readonly Check[], state: Check['state']): number =>
  checks.filter((check) => check.state === state).length;

const printChecks = (cli: Cli, { checks }: Site): void => {
  cli.out.record(
    checks.flatMap(({ state, label, detail, cure, runbook_url }): (readonly [string, string])[] => [
      [`${WORD[state].padEnd(STATE_WIDTH)}${label}`, detail],
      ...(cure === null ? [] : [['', `-> ${cure}`] as const]),
      ...(cure === null || runbook_url === null ? [] : [['', runbook_url] as const]),
    ]),
  );
};

const resultOf = ({ checks, duration_ms, server_version }: Site): string => {
  const parts = SITE_CHECK_STATES.flatMap((state) =>
    count(checks, state) === 0 ? [] : [`${count(checks, state)} ${WORD[state]}`],
  );
  return `${parts.join(', ')}; server ${server_version}, ${(duration_ms / 1000).toFixed(1)} s.`;
};

export const adminDoctor = command({
  name: 'doctor',
  summary: 'Check the whole site and show cures; exit code 1 if a check failed',
  run: async (cli) => {
    const site = await (await cli.client()).adminDoctorGet({}, { signal: cli.signal });
    if (cli.out.json) cli.out.item(site);
    else {
      printChecks(cli, site);
      cli.out.say(resultOf(site));
    }
    const failed = count(site.checks, 'failed');
    if (failed > 0)
      throw new CliError(
        'failure',
        failed === 1 ? 'One check failed.' : `${failed} checks failed.`,
        'To check this computer and your sign-in: gpuaas doctor',
      );
  },
});
