/**
 * Removes secrets from log lines again, whatever the sender did: values under secret-looking keys, and text that looks
 * like a token, a key or a password in a URL. It prefers removing too much.
 */
const SECRET_KEY = /pass(?:word|phrase|wd)?$|secret|token|authorization|cookie|private_?key|api_?key|credential/i;
/** Keys that only look like it: they count or name, and hold nothing to hide. */
const HARMLESS_KEY = /(?:_id|_count|_prefix|_kind|_type|_at|_s|_ms)$/;

const SECRET_TEXT =
  /\b(?:gpuaas_[a-z]+_[A-Za-z0-9_-]{16,}|gpe_[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)|(?<=:\/\/[^\s:/@]{1,64}:)[^\s@/]{1,256}(?=@)/g;

const REDACTED = '[redacted]';
const DEPTH_MAX = 8;

export const redactText = (text: string): string => text.replace(SECRET_TEXT, REDACTED);

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
      SECRET_KEY.test(key) && !HARMLESS_KEY.test(key) ? REDACTED : redactValue(value, depth),
    ]),
  );
