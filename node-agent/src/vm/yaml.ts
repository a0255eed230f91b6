/**
 * YAML that every reader parses the same way. Each string and key is in double quotes and everything beyond plain ASCII
 * is escaped, so that `no`, `0644` or a Unicode line separator never means one thing here and another in a guest OS.
 */
import { parseDocument, stringify } from 'yaml';
import { HostError } from '../host/host.ts';

export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

const escapeRune = (rune: string): string => {
  const code = rune.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
};

export const writeYaml = (value: Plain): string =>
  stringify(value, {
    version: '1.1',
    lineWidth: 0,
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'QUOTE_DOUBLE',
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    aliasDuplicateObjects: false,
  }).replaceAll(/[^\n\x20-\x7e]/gu, escapeRune);

const DEPTH_MAX = 64;

/** Dates, sets and bytes would not round-trip. */
const plainOf = (value: unknown, depth: number): Plain => {
  if (depth > DEPTH_MAX) throw new HostError('blocked', `it is nested deeper than ${DEPTH_MAX} levels`);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => plainOf(item, depth + 1));
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainOf(item, depth + 1)]));
  throw new HostError('blocked', 'it holds a value that is no text, number, list or mapping; put it in quotes');
};

/** One document of plain values, parsed as cloud-init parses it. */
export const readYaml = (text: string): Plain => {
  try {
    const document = parseDocument(text, { version: '1.1', merge: true, strict: true, uniqueKeys: true });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw problem;
    return plainOf(document.toJS({ maxAliasCount: 100 }), 0);
  } catch (err) {
    const why = err instanceof Error ? (err.message.split('\n')[0] ?? '') : String(err);
    throw new HostError('blocked', `the YAML cannot be read: ${why}`, { cause: err });
  }
};
