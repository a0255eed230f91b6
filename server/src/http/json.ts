/**
 * Parses untrusted JSON bodies. JSON.parse alone would take the last of two equal keys, let `__proto__` through and
 * recurse without limit, and another parser might disagree. So the text is scanned first, and ambiguous or hostile
 * input is refused by name.
 */
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';

const DEPTH_MAX = 32;
const VALUES_MAX = 10_000;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

const refuse = (code: string, message: string): AppError =>
  new AppError('invalid_request', message, { errors: [{ pointer: '/body', code, message }] });

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The index of the quote that ends the string beginning at `start`, or the length of the text. */
const endOfString = (text: string, start: number): number => {
  let i = start + 1;
  while (i < text.length && text.charCodeAt(i) !== 34) i += text.charCodeAt(i) === 92 ? 2 : 1;
  return i;
};

const checkKey = (raw: string, keys: Set<string>): void => {
  const key = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
  if (FORBIDDEN_KEYS.has(key)) throw refuse('forbidden_key', `The key "${key}" is not allowed.`);
  if (keys.has(key)) throw refuse('duplicate_key', `The key "${key.slice(0, 64)}" occurs twice in one object.`);
  keys.add(key);
};

const walk = (text: string, valuesMax: number): void => {
  // One entry per open bracket: the keys seen in an object, null for an array.
  const open: (Set<string> | null)[] = [];
  let values = 0;
  let expectKey = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 34) {
      const end = endOfString(text, i);
      const keys = open.at(-1);
      if (expectKey && keys) checkKey(text.slice(i + 1, end), keys);
      expectKey = false;
      i = end;
    } else if (char === 123 || char === 91) {
      open.push(char === 123 ? new Set() : null);
      if (open.length > DEPTH_MAX) throw refuse('too_deep', `The body is nested deeper than ${DEPTH_MAX} levels.`);
      expectKey = char === 123;
      values++;
    } else if (char === 125 || char === 93) {
      open.pop();
      expectKey = false;
    } else if (char === 44) {
      expectKey = open.at(-1) instanceof Set;
      if (++values > valuesMax) throw refuse('too_many_values', `The body holds more than ${valuesMax} values.`);
    }
  }
};

export const parseJson = (body: Buffer, valuesMax = VALUES_MAX): unknown => {
  if (body.length === 0) throw refuse('empty', 'The body is empty; send a JSON object.');
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw refuse('invalid_utf8', 'The body is not valid UTF-8.');
  }
  try {
    walk(text, valuesMax);
    return JSON.parse(text);
  } catch (err) {
    if (err instanceof AppError) throw err;
    throw refuse('invalid_json', REFUSALS.body_not_json);
  }
};

/** An OAuth form: each name once. */
export const parseForm = (body: Buffer): Record<string, string> => {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw refuse('invalid_utf8', 'The body is not valid UTF-8.');
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw refuse('duplicate_key', `The field "${name.slice(0, 64)}" occurs twice.`);
    if (FORBIDDEN_KEYS.has(name)) throw refuse('forbidden_key', `The field "${name}" is not allowed.`);
    if (fields.size >= 64) throw refuse('too_many_values', 'The form holds more than 64 fields.');
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
};
