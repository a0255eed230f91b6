import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { createClient, type Me } from '@gpuaas/sdk';
import { command, text, toggle } from '../command.ts';
import { type Profile, readConfig, updateConfig, withProfile } from '../config.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import type { Io } from '../io.ts';
import { deviceLogin, devLogin, discover, readPlatform, type Tokens } from '../login.ts';
import type { Settings } from '../settings.ts';
import { USER_AGENT } from '../version.ts';

/**
 * The password of the embedded issuer: from the environment, from the repository clone that runs it, or from a prompt.
 */
const devPassword = async ({ env, io, interactive }: Cli, username: string): Promise<string> => {
  if (env['GPUAAS_DEV_PASSWORD']) return env['GPUAAS_DEV_PASSWORD'];
  const home = env['GPUAAS_HOME'] || join(import.meta.dirname, '../../..');
  const file = join(env['GPUAAS_STATE_DIR'] || join(home, '.gpuaas'), 'dev-password');
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored.trim() !== '') return stored.trim();
  if (!interactive)
    throw new UsageError(
      `No password for ${username}: ${file} does not exist.`,
      'Set GPUAAS_DEV_PASSWORD, or run this in the directory where `make up` runs.',
    );
  const { askSecret } = await import('../prompt.ts');
  return askSecret(`Password of ${username}`, io);
};

const tokenFromInput = async ({ stdin }: Io): Promise<string> => {
  const given = (await readText(stdin)).trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(given))
    throw new UsageError('Standard input contains no token.', 'gpuaas login --token-stdin < token-file');
  return given;
};

const signIn = async (cli: Cli, settings: Settings, dev: string | undefined): Promise<Profile> => {
  const platform = await readPlatform(settings.url, cli.signal);
  if (dev !== undefined && !platform.embedded_issuer)
    throw new UsageError(`${settings.url} has no embedded issuer; --dev cannot be used.`, 'Sign in with: gpuaas login');
  const issuer = await discover(platform.issuer, cli.signal);
  const client_id = platform.cli_client_id;
  let tokens: Tokens;
  if (dev !== undefined) {
    tokens = await devLogin(issuer, { client_id, username: dev, password: await devPassword(cli, dev) }, cli.signal);
  } else {
    const show = (code: { user_code: string; verification_uri: string; verification_uri_complete: string | null }) =>
      cli.out.say(
        `Open ${code.verification_uri_complete ?? code.verification_uri}\nand check that it shows the code ${code.user_code}\nWaiting for your approval in the browser ...`,
      );
    tokens = await deviceLogin(issuer, client_id, show, cli.signal);
  }
  return {
    issuer: platform.issuer,
    client_id,
    access_token: tokens.access_token,
    expires_at: tokens.expires_at,
    ...(tokens.refresh_token === null ? {} : { refresh_token: tokens.refresh_token }),
  };
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

export const login = command({
  name: 'login',
  summary: 'Sign in and store the credential in a profile',
  flags: {
    dev: toggle('Sign in to the embedded issuer of a laptop, without a browser'),
    user: text('With --dev: dev-admin or dev-user (default dev-admin)', 'name'),
    'token-stdin': toggle('Use an API token read from standard input'),
  },
  examples: [
    'gpuaas login --url https://gpuaas.example',
    'gpuaas login --dev',
    'gpuaas login --token-stdin < token-file',
  ],
  run: async (cli, { flags }) => {
    if (flags.dev && flags.tokenStdin) throw new UsageError('--dev and --token-stdin cannot be combined.');
    if (flags.user !== undefined && !flags.dev) throw new UsageError('--user requires --dev.');
    const settings = await cli.settings();
    const dev = flags.dev ? (flags.user ?? 'dev-admin') : undefined;
    const credential: Profile = flags.tokenStdin
      ? { token: await tokenFromInput(cli.io) }
      : await signIn(cli, settings, dev);
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
    const signedIn = { id: me.id, name: me.name, email: me.email, url: settings.url, profile: settings.profile_name };
    if (cli.out.json) cli.out.item(signedIn);
    else
      cli.out.say(
        `Signed in to ${settings.url} as ${me.name}${me.email === null ? '' : ` <${me.email}>`} (profile ${settings.profile_name}).`,
      );
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
