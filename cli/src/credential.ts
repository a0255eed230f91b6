/**
 * The credential of a request: the token from the environment, or that of the profile. An access token that is about to
 * expire, or that the server refused, is renewed once under the lock of the configuration. Issuers rotate refresh
 * tokens and end the whole sign-in when an old one is reused, so the new one is written before it is used and two
 * commands never renew concurrently.
 */
import { GpuaasError, type TokenProvider } from '@gpuaas/sdk';
import { type Profile, updateConfig, withProfile } from './config.ts';
import type { Env } from './io.ts';
import { discover, refresh } from './login.ts';
import { profileUrl, type Settings } from './settings.ts';

const RENEW_BEFORE_MS = 30_000;

const ended = (url: string): GpuaasError => new GpuaasError('unauthenticated', `The sign-in to ${url} has expired.`);

const isFresh = (profile: Profile, rejected: string | undefined): boolean =>
  profile.access_token !== undefined &&
  profile.access_token !== rejected &&
  Date.parse(profile.expires_at ?? '') - Date.now() > RENEW_BEFORE_MS;

const renew = async (settings: Settings, rejected: string | undefined): Promise<Profile> => {
  const { config_file, profile_name, url } = settings;
  const config = await updateConfig(config_file, async (current) => {
    const profile = current.profiles[profile_name] ?? {};
    // Another command signed in to another address under this profile name: that credential is not for this address.
    if (profileUrl(profile, profile_name) !== url) throw ended(url);
    // Another command renewed while this one waited for the lock.
    if (isFresh(profile, rejected)) return current;
    const { refresh_token, issuer, client_id } = profile;
    if (refresh_token === undefined || issuer === undefined || client_id === undefined) throw ended(url);
    const signal = new AbortController().signal;
    const tokens = await refresh(await discover(issuer, signal), { client_id, refresh_token }, signal).catch(
      (err: unknown) => {
        throw err instanceof GpuaasError && err.code === 'unauthenticated' ? ended(url) : err;
      },
    );
    return withProfile(current, profile_name, {
      ...profile,
      access_token: tokens.access_token,
      refresh_token: tokens.refresh_token ?? refresh_token,
      expires_at: tokens.expires_at,
    });
  });
  return config.profiles[profile_name] ?? {};
};

/** Signs the user in again, for a request that needs a fresh sign-in; null if the user declines. */
type SignInAgain = (rejected: string) => Promise<Profile | null>;

export const createTokenProvider = (settings: Settings, env: Env, signInAgain?: SignInAgain): TokenProvider => {
  let profile = settings.profile;
  return async ({ rejected, freshSignIn }) => {
    if (settings.credential === 'environment') return env['GPUAAS_TOKEN'];
    if (settings.credential === 'none')
      throw new GpuaasError('unauthenticated', `You are not signed in to ${settings.url}.`);
    if (profile.token !== undefined) return profile.token;
    if (freshSignIn && rejected !== undefined) {
      // A renewed token has the time of the same sign-in. The refused one again makes the request fail.
      profile = (await signInAgain?.(rejected)) ?? profile;
      return profile.access_token;
    }
    if (!isFresh(profile, rejected)) profile = await renew(settings, rejected);
    return profile.access_token;
  };
};
