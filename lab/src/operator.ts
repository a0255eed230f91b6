/**
 * The operator account that the simulated hosts use for the public API. On a laptop it is dev-admin with the password
 * that `make up` created; elsewhere it is the owner of the token.
 */
import { readFile } from 'node:fs/promises';
import { type Client, createClient } from '@gpuaas/sdk';
import { devLogin, discover, readPlatform } from '../../cli/src/login.ts';

export type OperatorOptions = Readonly<{
  url: string;
  /** Read again whenever the token is refused, so that it can be replaced. */
  token_file?: string;
  dev_password_file?: string;
  signal: AbortSignal;
}>;

const signInDev = async (url: string, passwordFile: string, signal: AbortSignal): Promise<string> => {
  const password = (await readFile(passwordFile, 'utf8')).trim();
  const platform = await readPlatform(url, signal);
  if (!platform.embedded_issuer)
    throw new Error(`${url} has no embedded issuer; give an operator's token with --token-file.`);
  const issuer = await discover(platform.issuer, signal);
  const given = { client_id: platform.cli_client_id, username: 'dev-admin', password };
  return (await devLogin(issuer, given, signal)).access_token;
};

export const createOperator = (options: OperatorOptions): Client => {
  const { url, token_file, dev_password_file, signal } = options;
  const obtain = async (): Promise<string> => {
    if (token_file !== undefined) return (await readFile(token_file, 'utf8')).trim();
    if (dev_password_file !== undefined) return signInDev(url, dev_password_file, signal);
    throw new Error('There is no credential: give --token-file.');
  };
  let token: Promise<string> | undefined;
  return createClient({
    baseUrl: url,
    userAgent: 'gpuaas-lab',
    // A fleet sends more requests than a person, and a starting control plane is waited for.
    retry: { retriesMax: 20, waitMaxMs: 60_000 },
    tokenProvider: async ({ rejected }) => {
      if (token !== undefined && (await token.catch(() => rejected)) === rejected) token = undefined;
      token ??= obtain();
      return token;
    },
  });
};
