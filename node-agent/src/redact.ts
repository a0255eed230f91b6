/**
 * Removes secrets from output. Values under secret-looking keys are replaced at any depth, and secrets inside text
 * (keys, tokens, credentials in URLs) are cut out.
 */
const CENSOR = '[redacted]';
const SECRET_KEY =
  /^(?:.*[_-])?(?:authorization|cookie|password|passwd|secret|token|private_key|private_key_pem|credential|credentials|api_key|user_data)$/i;

const SECRETS_IN_TEXT: readonly [RegExp, string][] = [
  [
    /-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE REQUEST|CERTIFICATE)-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g,
    CENSOR,
  ],
  [/\bgp[a-z]?_[A-Za-z0-9_-]{16,}/g, CENSOR],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9+/_.~=-]{8,}/gi, `$1 ${CENSOR}`],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, CENSOR],
  [/\b(password|passwd|secret|token|authorization)(["']?\s*[:=]\s*["']?)[^\s"',;&]{3,}/gi, `$1$2${CENSOR}`],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]+):[^\s/@]+@/gi, `$1:${CENSOR}@`],
];

export const redactText = (text: string): string =>
  SECRETS_IN_TEXT.reduce((result, [pattern, by]) => result.replaceAll(pattern, by), text);

const DEPTH_MAX = 8;

export const redact = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET_KEY.test(key) && inner !== null ? CENSOR : redact(inner, depth + 1),
    ]),
  );
};
