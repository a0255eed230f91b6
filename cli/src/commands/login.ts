import { text as readText } from 'node:stream/consumers';
import { createClient, type Me } from '@gpuaas/sdk';
import { command, text, toggle } from '../command.ts';
import { type Profile, readConfig, updateConfig, withProfile } from '../config.ts';
import { CliError, UsageError } from '../exit.ts';
import type { Io } from '../io.ts';
import type { Settings } from '../settings.ts';
import { signIn } from '../sign-in.ts';
import { USER_AGENT } from '../version.ts';

const tokenFromInput = async ({ stdin }: Io): Promise<string> => {
  const given = (await readText(stdin)).trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(given))
    throw new UsageError('Standard input contains no token.', 'gpuaas login --token-stdin < token-file');
  return given;
};

/**
 * Kept when the same user signs in again; otherwise the project of the personal organization, so that commands work
 * without flags.
 */
const defaults = async (
  settings: Settings,
  token: string,
  me: Me,
  correlation_id: string,
): Promise<Pick<Profile, 'organization' | 'project'>> => {
  const { organization, project } = settings.profile;
  if (organization !== undefined && me.organizations.some(({ id }) => id === organization))
    return { organization, ...(project === undefined ? {} : { project }) };
  if (me.kind === 'service_account') {
    const [home] = me.projects;
    return home === undefined ? {} : { organization: home.organization_id, project: home.id };
  }
  const client = createClient({ baseUrl: settings.url, token, userAgent: USER_AGENT, correlationId: correlation_id });
  const { items } = await client.organizationList({ query: { limit: 200 } });
  const personal = items.filter(({ kind }) => kind === 'personal');
  const [chosen] = personal.length === 1 ? personal : items.length === 1 ? items : [];
  if (chosen === undefined) return {};
  const projects = (await client.projectList({ params: { organization_id: chosen.id }, query: { limit: 200 } })).items;
  const [only] = projects.length === 1 ? projects : projects.filter(({ name }) => name === 'default');
  return { organization: chosen.id, ...(only === undefined ? {} : { project: only.id }) };
};

/** An operator has not admitted the user, who is signed in and can do nothing else. */
export const pendingText = ({ sign_up_request: request }: Me): string =>
  request?.state === 'rejected'
    ? `An operator rejected your sign-up: ${request.reason ?? 'no reason given'}`
    : `Your sign-up waits for the approval of an operator${request === null ? '' : ` (${request.id})`}.`;

export const login = command({
  name: 'login',
  summary: 'Sign in and store the credential in a profile',
  flags: {
    dev: toggle('Sign in to the embedded issuer of a laptop, without a browser'),
    user: text('With --dev: dev-admin or dev-user (default dev-admin)', 'name'),
    fresh: toggle('Enter your credentials even if the browser is signed in, for changes that need a fresh sign-in'),
    'token-stdin': toggle('Use an API token read from standard input'),
  },
  examples: [
    'gpuaas login --url https://gpuaas.example',
    'gpuaas login --fresh',
    'gpuaas login --dev',
    'gpuaas login --token-stdin < token-file',
  ],
  run: async (cli, { flags }) => {
    if (flags.dev && flags.tokenStdin) throw new UsageError('--dev and --token-stdin cannot be combined.');
    if (flags.fresh && flags.tokenStdin)
      throw new UsageError('--fresh and --token-stdin cannot be combined: a token has no sign-in.');
    if (flags.user !== undefined && !flags.dev) throw new UsageError('--user requires --dev.');
    const settings = await cli.settings();
    const dev = flags.dev ? (flags.user ?? 'dev-admin') : undefined;
    const credential: Profile = flags.tokenStdin
      ? { token: await tokenFromInput(cli.io) }
      : await signIn(cli, settings.url, { dev, fresh: flags.fresh === true });
    const token = credential.token ?? credential.access_token ?? '';
    // A token that the API does not accept is not saved.
    const me = await createClient({
      baseUrl: settings.url,
      token,
      userAgent: USER_AGENT,
      correlationId: cli.correlation_id,
    }).meGet({}, { signal: cli.signal });
    const profile: Profile = {
      url: settings.url,
      ...(await defaults(settings, token, me, cli.correlation_id)),
      ...credential,
    };
    await updateConfig(settings.config_file, (config) => withProfile(config, settings.profile_name, profile));
    const signedIn = {
      id: me.id,
      name: me.name,
      email: me.email,
      state: me.state,
      url: settings.url,
      profile: settings.profile_name,
    };
    if (cli.out.json) cli.out.item(signedIn);
    else
      cli.out.say(
        `Signed in to ${settings.url} as ${me.name}${me.email === null ? '' : ` <${me.email}>`} (profile ${settings.profile_name}).`,
      );
    if (me.state === 'pending' && !cli.out.json) cli.out.say(`${pendingText(me)} Check it: gpuaas whoami`);
    if (cli.env['GPUAAS_TOKEN']) cli.out.say('GPUAAS_TOKEN is set and takes precedence over this sign-in.');
  },
});

export const logout = command({
  name: 'logout',
  summary: 'Sign out and remove the credential from a profile',
  run: async (cli) => {
    const { config_file, profile_name } = await cli.settings();
    const config = await readConfig(config_file);
    if (config.profiles[profile_name] === undefined)
      throw new CliError('not_found', `No profile ${profile_name} in ${config_file}.`);
    await updateConfig(config_file, (current) => {
      const { url, organization, project } = current.profiles[profile_name] ?? {};
      const kept: Profile = {
        ...(url === undefined ? {} : { url }),
        ...(organization === undefined ? {} : { organization }),
        ...(project === undefined ? {} : { project }),
      };
      return withProfile(current, profile_name, kept);
    });
    if (cli.out.json) cli.out.item({ profile: profile_name, signed_in: false });
    else cli.out.say(`Signed out of profile ${profile_name}.`);
  },
});
