/** Signing a person in: the first time, and again for a change that needs a fresh sign-in. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@gpuaas/sdk';
import { type Profile, updateConfig, withProfile } from './config.ts';
import { CliError, UsageError } from './exit.ts';
import type { Env, Io } from './io.ts';
import { deviceLogin, devLogin, discover, readPlatform, type Tokens } from './login.ts';
import type { Output } from './output.ts';
import type { Settings } from './settings.ts';
import { USER_AGENT } from './version.ts';

/** The part of a command's context that a sign-in uses. */
type Terminal = Readonly<{
  env: Env;
  io: Io;
  interactive: boolean;
  signal: AbortSignal;
  out: Output;
  correlation_id: string;
}>;

/**
 * The password of the embedded issuer: from the environment, from the repository clone that runs it, or from a prompt.
 */
const devPassword = async ({ env, io, interactive }: Terminal, username: string): Promise<string> => {
  if (env['GPUAAS_DEV_PASSWORD']) return env['GPUAAS_DEV_PASSWORD'];
  const home = env['GPUAAS_HOME'] || join(import.meta.dirname, '../..');
  const file = join(env['GPUAAS_STATE_DIR'] || join(home, '.gpuaas'), 'dev-password');
  const stored = await readFile(file, 'utf8').catch(() => '');
  if (stored.trim() !== '') return stored.trim();
  if (!interactive)
    throw new UsageError(
      `No password for ${username}: ${file} does not exist.`,
      'Set GPUAAS_DEV_PASSWORD, or run this in the directory where `make up` runs.',
    );
  const { askSecret } = await import('./prompt.ts');
  return askSecret(`Password of ${username}`, io);
};

/**
 * The credential of a new sign-in: without a browser for a user of the embedded issuer, else by the device flow. A fresh
 * one asks for credentials even if the browser is signed in.
 */
export const signIn = async (
  cli: Terminal,
  url: string,
  { dev, fresh }: Readonly<{ dev: string | undefined; fresh: boolean }>,
): Promise<Profile> => {
  const platform = await readPlatform(url, cli.signal);
  if (dev !== undefined && !platform.embedded_issuer)
    throw new UsageError(`${url} has no embedded issuer; --dev cannot be used.`, 'Sign in with: gpuaas login');
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
    tokens = await deviceLogin(issuer, { client_id, fresh }, show, cli.signal);
  }
  return {
    issuer: platform.issuer,
    client_id,
    access_token: tokens.access_token,
    expires_at: tokens.expires_at,
    ...(dev === undefined ? {} : { dev_user: dev }),
    ...(tokens.refresh_token === null ? {} : { refresh_token: tokens.refresh_token }),
  };
};

/**
 * Asks the user to sign in again, and stores the new credential in the profile; null if the user declines. Another user
 * is refused: the command that waits would run with other permissions than those it started with.
 */
export const signInAgain = async (cli: Terminal, settings: Settings, rejected: string): Promise<Profile | null> => {
  const { url, profile, profile_name, config_file } = settings;
  const { ask } = await import('./prompt.ts');
  const who = profile.dev_user === undefined ? '' : ` as ${profile.dev_user}`;
  if (!(await ask(`This change needs a fresh sign-in. Sign in again${who}?`, cli.io))) return null;
  const credential = await signIn(cli, url, { dev: profile.dev_user, fresh: true });
  const idOf = async (token: string | undefined) =>
    (
      await createClient({ baseUrl: url, token, userAgent: USER_AGENT, correlationId: cli.correlation_id }).meGet(
        {},
        { signal: cli.signal },
      )
    ).id;
  if ((await idOf(credential.access_token)) !== (await idOf(rejected)))
    throw new CliError(
      'auth',
      'You signed in as another user. The command was not repeated.',
      'Sign in as that user for all commands: gpuaas login --fresh',
    );
  const config = await updateConfig(config_file, (current) => {
    const { refresh_token: _, ...kept } = current.profiles[profile_name] ?? {};
    return withProfile(current, profile_name, { ...kept, ...credential });
  });
  return config.profiles[profile_name] ?? null;
};
