/**
 * An OpenID Connect issuer on loopback that signs any token a test requests: expired, misaddressed, forged. It uses
 * real HTTP, so the verifier under test runs as in production.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

type Signer = Readonly<{ kid: string; key: CryptoKey; jwk: JWK }>;
type SignOptions = Readonly<{ header?: Record<string, unknown>; signer?: Signer; omit?: readonly string[] }>;

export type TestIssuer = Readonly<{
  url: string;
  signer: () => Signer;
  /** A valid token for `gpuaas-api`, for ten minutes, plus these claims. */
  sign(claims?: JWTPayload, options?: SignOptions): Promise<string>;
  /** A key of the issuer's kind that it never publishes. */
  strangeSigner(kid: string): Promise<Signer>;
  /** Signs with a new key from now on; keeps publishing the old one on request. */
  rotate(keepOld: boolean): Promise<void>;
  /** Responds to every request with 500 while true. */
  setDown(down: boolean): void;
  userinfo: { answer: (authorization: string) => Readonly<{ status: number; body: unknown }> };
  /** The token endpoint's response to a code. */
  token: {
    answer: (form: URLSearchParams, authorization: string) => Promise<Readonly<{ status: number; body: unknown }>>;
  };
  requests: string[];
}>;

export const AUDIENCE = 'gpuaas-api';

const newSigner = async (kid: string): Promise<Signer> => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
};

export const startTestIssuer = async (
  t: Readonly<{ after(fn: () => Promise<void>): void }>,
  /** Where others reach it, if not at its own port. */
  options: Readonly<{ url?: (port: number) => Promise<string> }> = {},
): Promise<TestIssuer> => {
  let signer = await newSigner('key-1');
  let published: JWK[] = [signer.jwk];
  let isDown = false;
  const requests: string[] = [];
  const userinfo: TestIssuer['userinfo'] = { answer: () => ({ status: 404, body: {} }) };

  const token: TestIssuer['token'] = { answer: async () => ({ status: 400, body: { error: 'invalid_grant' } }) };

  const server = createServer((req, res) => {
    const path = req.url ?? '';
    requests.push(path);
    const reply = (status: number, body: unknown) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (isDown) return reply(500, {});
    switch (path) {
      case '/.well-known/openid-configuration':
        return reply(200, {
          issuer: url,
          jwks_uri: `${url}/keys`,
          userinfo_endpoint: `${url}/userinfo`,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          device_authorization_endpoint: `${url}/device`,
        });
      case '/token': {
        return void text(req)
          .then((form) => token.answer(new URLSearchParams(form), req.headers.authorization ?? ''))
          .then(({ status, body }) => reply(status, body));
      }
      case '/device':
        return reply(200, {
          ...{ device_code: 'device-1', user_code: 'ABCD-EFGH', verification_uri: `${url}/enter-code` },
          ...{ expires_in: 600, interval: 1 },
        });
      case '/keys':
        return reply(200, { keys: published });
      case '/userinfo': {
        const { status, body } = userinfo.answer(req.headers.authorization ?? '');
        return reply(status, body);
      }
      default:
        return reply(404, {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = (await options.url?.(port)) ?? `http://127.0.0.1:${port}`;
  t.after(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );

  return {
    url,
    requests,
    userinfo,
    token,
    signer: () => signer,
    strangeSigner: newSigner,
    setDown: (down) => {
      isDown = down;
    },
    rotate: async (keepOld) => {
      const old = published;
      signer = await newSigner(`key-${old.length + 1}`);
      published = keepOld ? [signer.jwk, ...old] : [signer.jwk];
    },
    sign: (claims = {}, options = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const by = options.signer ?? signer;
      const all: JWTPayload = {
        iss: url,
        aud: AUDIENCE,
        sub: 'user-1',
        iat: now,
        exp: now + 3600,
        auth_time: now,
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        email_verified: true,
        scope: 'openid email',
        ...claims,
      };
      for (const name of options.omit ?? []) delete all[name];
      return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: by.kid, ...options.header }).sign(by.key);
    },
  };
};
