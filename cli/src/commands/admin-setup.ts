/**
 * From an empty database to the first launch. The server derives the steps from the data of the site, so the command
 * shows the same at every computer, and never repeats what is done.
 */
import { GpuaasError, type Operations } from '@gpuaas/sdk';
import { command, duration } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import type { Prompts } from '../prompt.ts';
import { readSetup, STEP_RUNNERS, type StepKey } from '../setup-run.ts';
import { printEnrollment } from './admin-node-agent.ts';

type Setup = Operations['adminSetupGet']['response'];
type Step = Setup['steps'][number];

const MARK: Readonly<Record<Step['state'], string>> = {
  done: 'done',
  next: 'NEXT',
  blocked: 'later',
  optional: 'open',
};
const TIMEOUT_MS = 900_000;

const FIRST_SUPERADMIN =
  'To become the first superadmin, set GPUAAS_SUPERADMIN_EMAILS of gpuaas-api to your verified email address, restart gpuaas-api, then sign in.';

const SIGN_IN = 'Sign in: gpuaas login';

const printSteps = (cli: Cli, { steps }: Setup): void => {
  cli.out.table(steps, [
    { header: 'STATE', value: ({ state }) => MARK[state] },
    { header: 'STEP', value: ({ label }) => label },
    { header: 'DETAIL', value: ({ detail }) => detail, shrink: 'wrap' },
  ]);
  for (const { state, label, command: words } of steps)
    if (state === 'optional' && words !== null) cli.out.say(`${label}: ${words}`);
};

const nextOf = (setup: Setup): Step | undefined => setup.steps.find(({ key }) => key === setup.next);

/** Without a session nothing can be read, and the first two steps are the reason. */
const assertSignedIn = async (cli: Cli): Promise<void> => {
  const { credential, url } = await cli.settings();
  if (credential === 'none')
    throw new CliError('auth', `The first step is to sign in at ${url}. ${FIRST_SUPERADMIN}`, SIGN_IN);
};

const readAsOperator = async (cli: Cli): Promise<Setup> => {
  try {
    return await readSetup(cli);
  } catch (err) {
    if (!(err instanceof GpuaasError) || (err.code !== 'permission_denied' && err.code !== 'not_found')) throw err;
    throw new CliError('auth', `Your account has no platform role. ${FIRST_SUPERADMIN}`, SIGN_IN);
  }
};

/** Carries out steps as long as the user agrees and this command can. */
export const runSteps = async (
  cli: Cli,
  options: Readonly<{ setup: Setup; prompts: Prompts; timeoutMs: number }>,
): Promise<void> => {
  let { setup } = options;
  for (let ran: StepKey | undefined; ; ) {
    const step = nextOf(setup);
    const run = step === undefined ? undefined : STEP_RUNNERS[step.key];
    if (step === undefined || run === undefined || step.key === ran) return finish(cli, setup);
    if (!(await options.prompts.confirm(`Continue with: ${step.label}?`))) return finish(cli, setup);
    ran = step.key;
    const { prompts, timeoutMs } = options;
    const { requires_named_host: requiresNamedHost } = setup;
    await run({ cli, prompts, timeoutMs, requiresNamedHost, printEnrollment: (made) => printEnrollment(cli, made) });
    setup = await readSetup(cli);
    cli.out.print('');
    printSteps(cli, setup);
  }
};

const finish = (cli: Cli, setup: Setup): void => {
  const step = nextOf(setup);
  if (step === undefined) cli.out.print('Setup is complete. Check the site at any time: gpuaas admin doctor');
  else cli.out.print(`Next: ${step.label}\n  ${step.command ?? ''}\nThen continue: gpuaas admin setup`);
};

export const adminSetup = command({
  name: 'setup',
  summary: 'Show the steps from an empty database to the first launch, and run the next one',
  flags: { timeout: duration('How long to wait for a host, like 10m (default 15m)') },
  run: async (cli, { flags }) => {
    await assertSignedIn(cli);
    const setup = await readAsOperator(cli);
    if (cli.out.json) return cli.out.item(setup);
    printSteps(cli, setup);
    if (!cli.interactive) return finish(cli, setup);
    const { promptsOf } = await import('../prompt.ts');
    await runSteps(cli, { setup, prompts: promptsOf(cli.io), timeoutMs: flags.timeout ?? TIMEOUT_MS });
  },
});
