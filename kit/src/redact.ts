/**
 * Removes secrets from log lines and reasons: values under secret-looking keys, and text that looks like a token, a key
 * or a password. The agent applies it before a line leaves the host, and the control plane applies it again to whatever it
 * stores, so both have one list. It prefers removing too much. A line may be long and hostile, so each pattern needs linear
 * time: none may scan ahead from many starts for something that does not follow.
 */
const REDACTED = '[redacted]';
const DEPTH_MAX = 8;

const SECRET_KEY =
  /pass(?:word|phrase|wd)?$|secret|token|authorization|cookie|private_?key|api_?key|credential|user_data$/i;
/** Keys that only look secret: they are counts or names. */
const HARMLESS_KEY = /(?:_id|_count|_prefix|_kind|_type|_at|_s|_ms)$/;

const SECRETS_IN_TEXT: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE REQUEST|CERTIFICATE)-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g,
    REDACTED,
  ],
  // No token starts with `gpu_`, but many words do.
  [/\b(?:gpuaas_[a-z]+|gp[a-tv-z]?)_[A-Za-z0-9_-]{16,}/g, REDACTED],
  [/\b(?:Bearer|Basic)\s+[A-Za-z0-9+/_.~=-]{8,}/gi, REDACTED],
  [/\b(password|passwd|secret|token|authorization)(["']?\s*[:=]\s*["']?)[^\s"',;&]{3,}/gi, `$1$2${REDACTED}`],
  [/(:\/\/[^\s/:@]*):[^\s/@]+@/g, `$1:${REDACTED}@`],
];

/** Whole runs of the letters of a JWT: one start each, because a run is not entered again in its middle. */
const DOTTED = /(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]+/g;
const JWT_HEAD = /\beyJ[A-Za-z0-9_-]{8,}/;

const withoutJwts = (run: string): string => {
  const parts = run.split('.');
  const kept: string[] = [];
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at] ?? '';
    const head = (parts[at + 1] ?? '') !== '' && at + 2 < parts.length ? part.search(JWT_HEAD) : -1;
    kept.push(head < 0 ? part : part.slice(0, head) + REDACTED);
    if (head >= 0) at += 2;
  }
  return kept.join('.');
};

export const redactText = (text: string): string => {
  const rest = SECRETS_IN_TEXT.reduce((result, [pattern, by]) => result.replaceAll(pattern, by), text);
  return rest.includes('eyJ') ? rest.replaceAll(DOTTED, (run) => (run.includes('eyJ') ? withoutJwts(run) : run)) : rest;
};

const redactValue = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  return redactFields(value as Readonly<Record<string, unknown>>, depth + 1);
};

export const redactFields = (fields: Readonly<Record<string, unknown>>, depth = 0): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      SECRET_KEY.test(key) && !HARMLESS_KEY.test(key) && value !== null ? REDACTED : redactValue(value, depth),
    ]),
  );
