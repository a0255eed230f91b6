/** Whether the issuer responds now: its discovery document and its keys, without what was cached before. */
import { AppError } from '../../errors.ts';
import { createIssuerMetadata } from './issuer-metadata.ts';

type IssuerReached =
  | Readonly<{ ok: true; duration_ms: number; keys: number }>
  | Readonly<{ ok: false; reason: string }>;

export const reachIssuer = async (issuer: string, limitMs: number): Promise<IssuerReached> => {
  const started = performance.now();
  const limited: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      signal: AbortSignal.timeout(Math.max(1, Math.ceil(limitMs - (performance.now() - started)))),
    });
  try {
    const { document } = await createIssuerMetadata({ issuer, fetch: limited, nowMs: Date.now, keysCooldownMs: 0 })();
    const response = await limited(String(document['jwks_uri']), { redirect: 'error' });
    if (response.status !== 200) throw new Error(`its keys answered ${response.status}`);
    const { keys } = (await response.json()) as { keys?: readonly unknown[] };
    return { ok: true, duration_ms: performance.now() - started, keys: Array.isArray(keys) ? keys.length : 0 };
  } catch (err) {
    const cause = err instanceof AppError ? err.cause : err;
    const { name, message, cause: inner } = cause as Error;
    if (name === 'TimeoutError') return { ok: false, reason: `no answer within ${limitMs / 1000} s` };
    const code = (inner as { code?: string } | undefined)?.code;
    return { ok: false, reason: (code ?? message).slice(0, 200) };
  }
};
