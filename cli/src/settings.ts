/**
 * Which API a command uses, and with which credential. A flag overrides the environment, the environment overrides the
 * profile. A profile belongs to its address: its credential is never sent to another one, and its default organization
 * and project do not apply there.
 */
import { type ConfigFile, configPath, type Profile, readConfig } from './config.ts';
import { UsageError } from './exit.ts';
import type { Env } from './io.ts';

export type GlobalFlags = Readonly<{
  json?: boolean;
  profile?: string;
  url?: string;
  org?: string;
  project?: string;
  correlationId?: string;
}>;

export type Settings = Readonly<{
  config_file: string;
  profile_name: string;
  /** The stored profile, or an empty one if the command uses another address than the profile's. */
  profile: Profile;
  url: string;
  /** Where the credential comes from. */
  credential: 'environment' | 'profile' | 'none';
}>;

const DEFAULT_URL = 'http://localhost:8080';

const normalizeUrl = (raw: string, from: string): string => {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new UsageError(
      `${from} must be an http or https address, not "${raw}".`,
      'For example https://gpuaas.example',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
};

/** The address of a profile, normalized for comparison. */
export const profileUrl = (profile: Profile, name: string): string =>
  normalizeUrl(profile.url ?? DEFAULT_URL, `url of profile ${name}`);

const chooseProfile = (config: ConfigFile, flags: GlobalFlags, env: Env): string =>
  flags.profile ?? (env['GPUAAS_PROFILE'] || config.default_profile);

export const readSettings = async (flags: GlobalFlags, env: Env): Promise<Settings> => {
  const config_file = configPath(env);
  const config = await readConfig(config_file);
  const profile_name = chooseProfile(config, flags, env);
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(profile_name))
    throw new UsageError(`"${profile_name}" is not a profile name.`, 'Use letters, digits, - and _.');
  const stored = config.profiles[profile_name] ?? {};
  const given = flags.url ?? (env['GPUAAS_URL'] || undefined);
  const own = profileUrl(stored, profile_name);
  const url = given === undefined ? own : normalizeUrl(given, flags.url === undefined ? 'GPUAAS_URL' : '--url');
  const profile = url === own ? stored : {};
  const isSignedIn = profile.token !== undefined || profile.access_token !== undefined;
  const credential = env['GPUAAS_TOKEN'] ? 'environment' : isSignedIn ? 'profile' : 'none';
  return { config_file, profile_name, profile, url, credential };
};
