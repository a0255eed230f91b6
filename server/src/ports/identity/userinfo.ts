/** Queries the issuer for a user whose token has no address. It may fail: the token is valid without it. */
import type { Log } from '@gpuaas/kit';
import type { JWTPayload } from 'jose';

const TIMEOUT_MS = 3_000;
const BODY_MAX_CHARS = 64 * 1024;
const ABOUT_A_PERSON = ['name', 'preferred_username', 'email', 'email_verified', '_claim_names'];

export const fetchUserinfo = async (
  request: Readonly<{
    endpoint: string;
    jwt: string;
    subject: string;
    groups_claim: string;
    fetch: typeof globalThis.fetch;
    log: Log;
  }>,
): Promise<JWTPayload | null> => {
  try {
    const response = await request.fetch(request.endpoint, {
      headers: { authorization: `Bearer ${request.jwt}`, accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status !== 200) throw new Error(`userinfo answered ${response.status}`);
    const text = await response.text();
    if (text.length > BODY_MAX_CHARS) throw new Error('userinfo answered too much');
    const claims = JSON.parse(text) as JWTPayload;
    // OpenID Connect Core 5.3.2: a response about another subject must not be used.
    if (claims.sub !== request.subject) throw new Error('userinfo answered for another subject');
    return Object.fromEntries(
      [...ABOUT_A_PERSON, request.groups_claim].filter((name) => name in claims).map((name) => [name, claims[name]]),
    );
  } catch (err) {
    request.log.warn({ err }, 'userinfo could not be read');
    return null;
  }
};
