/** The embedded issuer on loopback, mounted in Fastify as the server mounts it, and users who sign in there. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Clock, createLog, silentLog } from '@gpuaas/kit';
import Fastify from 'fastify';
import * as client from 'openid-client';
import type { Database } from '../src/db/client.ts';
import {
  createEmbeddedIssuer,
  type EmbeddedIssuer,
  type EmbeddedIssuerOptions,
} from '../src/identity/issuer/embedded.ts';
import { createTokenVerifier } from '../src/ports/identity/verifier.ts';
import { Browser, type Page } from './browser.ts';
import { type TestDatabase, testDatabase } from './database.ts';
import { testSecrets } from './secrets.ts';

export const PASSWORD = 'correct horse battery';
export const SCOPE = 'openid profile email offline_access';
export const DEV_GRANT = 'urn:gpuaas:grant:dev';
export const secrets = testSecrets();

type Running = Readonly<{
  origin: string;
  issuer: EmbeddedIssuer;
  database: TestDatabase;
  options: EmbeddedIssuerOptions;
  logged: string[];
  browser: Browser;
  /** An application of ours, as openid-client sees the issuer. */
  relyingParty(clientId: string): Promise<client.Configuration>;
  close(): Promise<void>;
}>;

export const startIssuer = async (
  t: TestContext,
  given: Readonly<{ database?: TestDatabase; clock?: Clock; through?: (database: Database) => Database }> = {},
): Promise<Running> => {
  const database = given.database ?? (await testDatabase(t));
  const app = Fastify();
  const logged: string[] = [];
  const log = createLog({
    service: 'test',
    host_role: 'platform_control',
    level: 'debug',
    destination: { write: (line) => void logged.push(line) },
  });
  let issuer: EmbeddedIssuer | undefined;
  app.route({
    method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    url: '/oidc/*',
    onRequest: (request, reply) => {
      reply.hijack();
      issuer?.callback()(request.raw, reply.raw);
    },
    handler: () => undefined,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    app.server.closeAllConnections();
    await app.close();
  };
  t.after(close);
  const address = app.server.address();
  const origin = `http://localhost:${typeof address === 'object' ? address?.port : ''}`;
  const options: EmbeddedIssuerOptions = {
    issuerUrl: `${origin}/oidc`,
    database: given.through?.(database.database) ?? database.database,
    secrets,
    audience: 'gpuaas-api',
    consoleClientId: 'gpuaas-console',
    cliClientId: 'gpuaas-cli',
    consoleRedirectUris: [`${origin}/`, `${origin}/callback`],
    password: PASSWORD,
    log,
    mode: 'development',
    externalIssuer: null,
    ...(given.clock === undefined ? {} : { clock: given.clock }),
  };
  issuer = await createEmbeddedIssuer(options);
  return {
    origin,
    issuer,
    database,
    options,
    logged,
    close,
    browser: new Browser(origin),
    relyingParty: (clientId) =>
      client.discovery(new URL(`${origin}/oidc`), clientId, undefined, client.None(), {
        execute: [client.allowInsecureRequests],
      }),
  };
};

export const verify = (running: Running, jwt: string) =>
  createTokenVerifier({
    issuer: running.issuer.issuerUrl,
    audience: 'gpuaas-api',
    clients: ['gpuaas-console', 'gpuaas-cli'],
    log: silentLog(),
  }).verify(jwt);

type CodeRequest = Readonly<{ config: client.Configuration; verifier: string; url: URL; redirectUri: string }>;

export const codeRequest = async (
  running: Running,
  redirectUri: string,
  extra: Record<string, string> = {},
): Promise<CodeRequest> => {
  const config = await running.relyingParty('gpuaas-console');
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'state-1',
    nonce: 'nonce-1',
    ...extra,
  });
  return { config, verifier, url, redirectUri };
};

export const redeem = (request: CodeRequest, leftTo: string | null) =>
  client.authorizationCodeGrant(request.config, new URL(leftTo ?? ''), {
    pkceCodeVerifier: request.verifier,
    expectedState: 'state-1',
    expectedNonce: 'nonce-1',
  });

export const signIn = (running: Running, page: Page, username = 'dev-user', password = PASSWORD) =>
  running.browser.submit(page, { username, password });

export const signInToConsole = async (running: Running, username = 'dev-user') => {
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  const { leftTo } = await signIn(running, page, username);
  return { request, tokens: await redeem(request, leftTo) };
};

export const devLogin = async (running: Running, username: string, password: string) =>
  client.genericGrantRequest(await running.relyingParty('gpuaas-cli'), DEV_GRANT, { username, password });

export const oauthError = (code: string, sentence?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof client.ResponseBodyError, String(err));
  assert.equal(err.error, code);
  if (sentence !== undefined) assert.match(err.error_description ?? '', sentence);
  return true;
};
