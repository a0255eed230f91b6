/**
 * The context of a command: the client of the selected profile, the output, and the organization and project of the
 * command. Everything is created on first use, so a command that needs no network sends no request.
 */
import { randomBytes } from 'node:crypto';
import { type Client, createClient, GpuaasError, type Me } from '@gpuaas/sdk';
import { createTokenProvider } from './credential.ts';
import { CliError, UsageError } from './exit.ts';
import type { Env, Io } from './io.ts';
import { createOutput, isAutomated, type Output } from './output.ts';
import { type GlobalFlags, readSettings, type Settings } from './settings.ts';
import { USER_AGENT } from './version.ts';

export type Cli = Readonly<{
  io: Io;
  env: Env;
  out: Output;
  signal: AbortSignal;
  correlation_id: string;
  interactive: boolean;
  /**
   * The flags of this command line that select profile, organization and project, ready for use in a suggested command.
   */
  scope_words: readonly string[];
  settings(): Promise<Settings>;
  client(): Promise<Client>;
  me(): Promise<Me>;
  /** The ID of the organization of the command. */
  organization(): Promise<string>;
  /** The ID of the project of the command. `named` is the value from the command line, a name or an ID. */
  project(named?: string): Promise<string>;
  /** Asks for confirmation before an action that cannot be undone. Without a terminal it refuses. */
  confirm(question: string, yes: boolean | undefined): Promise<void>;
}>;

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const oneOrAsk = <T extends { name: string }>(found: readonly T[], noun: string, flag: string): T => {
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length === 0) throw new CliError('not_found', `You are not a member of any ${noun}.`);
  const names = found.slice(0, 10).map(({ name }) => name);
  throw new UsageError(
    `More than one ${noun} is available: ${names.join(', ')}.`,
    `Add ${flag} <name>, or set a default: gpuaas project use <name>`,
  );
};

export const createCli = (flags: GlobalFlags, io: Io): Cli => {
  const { env, signal } = io;
  const out = createOutput({ json: flags.json, io });
  const interactive = io.stdin.isTTY === true && io.stderr.isTTY === true && !isAutomated(env);
  const correlation_id = flags.correlationId ?? `cli-${randomBytes(12).toString('hex')}`;
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(correlation_id))
    throw new UsageError('--correlation-id accepts up to 64 letters, digits, dots, dashes and underscores.');
  const settings = once(() => readSettings(flags, env));

  const signInAgain = async (rejected: string) => {
    const terminal = { env, io, interactive, signal, out, correlation_id };
    return (await import('./sign-in.ts')).signInAgain(terminal, await settings(), rejected);
  };
  const client = once(async () =>
    createClient({
      baseUrl: (await settings()).url,
      tokenProvider: createTokenProvider(await settings(), env, interactive ? signInAgain : undefined),
      userAgent: USER_AGENT,
      correlationId: correlation_id,
    }),
  );
  const me = once(async () => (await client()).meGet({}, { signal }));

  const organization = once(async () => {
    const { profile } = await settings();
    const named = flags.org ?? (env['GPUAAS_ORGANIZATION'] || undefined) ?? profile.organization;
    if (named?.startsWith('org_')) return named;
    const { organizations } = await me();
    if (named !== undefined) {
      const found = organizations.find(({ name }) => name === named);
      if (found === undefined)
        throw new GpuaasError('not_found', `You are not a member of an organization named "${named}".`);
      return found.id;
    }
    if (organizations.length <= 1) return oneOrAsk(organizations, 'organization', '--org').id;
    const { items } = await (await client()).organizationList({ query: { limit: 200 } }, { signal });
    const personal = items.filter(({ kind }) => kind === 'personal');
    return oneOrAsk(personal.length === 1 ? personal : items, 'organization', '--org').id;
  });

  const projectByName = async (name: string): Promise<string> => {
    const organization_id = await organization();
    const { items } = await (await client()).projectList({ params: { organization_id }, query: { name } }, { signal });
    const [found] = items;
    if (found === undefined) throw new GpuaasError('not_found', `The organization has no project named "${name}".`);
    return found.id;
  };

  const defaultProject = once(async () => {
    const { projects, kind } = await me();
    if (kind === 'service_account') return oneOrAsk(projects, 'project', '--project').id;
    const params = { organization_id: await organization() };
    const { items } = await (await client()).projectList({ params, query: { limit: 200 } }, { signal });
    const named = items.filter(({ name }) => name === 'default');
    return oneOrAsk(named.length === 1 ? named : items, 'project', '--project').id;
  });

  const project = async (argument?: string): Promise<string> => {
    const { profile } = await settings();
    // A project selected for one organization does not apply to another one named by this command.
    const chosen = flags.org === undefined ? profile.project : undefined;
    const named = argument ?? flags.project ?? (env['GPUAAS_PROJECT'] || undefined) ?? chosen;
    if (named === undefined) return defaultProject();
    return named.startsWith('prj_') ? named : projectByName(named);
  };

  const confirm = async (question: string, yes: boolean | undefined): Promise<void> => {
    if (yes) return;
    // An error asks nothing.
    if (!interactive)
      throw new UsageError(`Confirmation required: ${question.replaceAll(/\?(?= |$)/g, '.')}`, 'Add --yes.');
    const { ask } = await import('./prompt.ts');
    if (!(await ask(question, io))) throw new CliError('failure', 'No changes were made.');
  };

  const scope_words = [
    ...(flags.org === undefined ? [] : ['--org', flags.org]),
    ...(flags.project === undefined ? [] : ['--project', flags.project]),
  ];
  return {
    io,
    env,
    out,
    signal,
    correlation_id,
    interactive,
    scope_words,
    settings,
    client,
    me,
    organization,
    project,
    confirm,
  };
};
