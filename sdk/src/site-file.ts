/**
 * A site file as text: YAML or JSON, read with the line of every value, so that a refusal names the line to correct. An
 * entry of its own, because it needs a parser that other users of the SDK do not.
 */
import { isCollection, isScalar, LineCounter, type Node, parseDocument, stringify } from 'yaml';
import type { SiteFile } from './api.gen.ts';

export type SitePlace = Readonly<{
  line: number;
  /** As people write it: `regions[0].name`; empty for the file as a whole. */
  name: string;
}>;

export type ReadSiteText =
  | Readonly<{
      site: SiteFile;
      /** Where a pointer of the API's errors[] stands in the text; null where it is not about the file. */
      placeOf(pointer: string): SitePlace | null;
    }>
  /** No document that could be planned. Without a line the message continues the name of the file. */
  | Readonly<{ wrong: Readonly<{ line: number | null; column: number | null; message: string }> }>;

const POINTER_START = '/body/site';
/** Documents that name one another's values can grow without end. */
const ALIASES_MAX = 100;

const keysOf = (pointer: string): (string | number)[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));

const spoken = (keys: readonly (string | number)[]): string =>
  keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');

/** The first line of the parser's message, whose position is stated apart. */
const sentenceOf = (message: string): string =>
  `${(message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '').replace(/[.:]$/, '')}.`;

export const readSiteText = (text: string): ReadSiteText => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [wrong] = document.errors;
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.pos[0]);
    return { wrong: { line, column: col, message: sentenceOf(wrong.message) } };
  }
  if (!isCollection(document.contents))
    return { wrong: { line: null, column: null, message: 'holds no site: it must start with "version: 1".' } };
  const lineOf = (keys: readonly (string | number)[]): number => {
    for (let depth = keys.length; depth >= 0; depth--) {
      const found = document.getIn(keys.slice(0, depth), true) as Node | undefined;
      if ((isScalar(found) || isCollection(found)) && found.range) return lines.linePos(found.range[0]).line;
    }
    return 1;
  };
  const placeOf = (pointer: string): SitePlace | null => {
    if (pointer !== POINTER_START && !pointer.startsWith(`${POINTER_START}/`)) return null;
    const keys = keysOf(pointer.slice(POINTER_START.length));
    return { line: lineOf(keys), name: spoken(keys) };
  };
  try {
    return { site: document.toJS({ maxAliasCount: ALIASES_MAX }) as SiteFile, placeOf };
  } catch (err) {
    // Only aliases are read this late: too many of them, or one that names nothing.
    const cause = err instanceof Error ? err.message : String(err);
    return { wrong: { line: null, column: null, message: `cannot be read: ${cause}` } };
  }
};

/** As people edit it: one row per block, the schema named for editors. */
export const siteText = (site: SiteFile, apiUrl: string): string =>
  `# yaml-language-server: $schema=${new URL('/site.schema.json', apiUrl).href}\n${stringify(site, { lineWidth: 120 })}`;
