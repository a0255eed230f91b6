/**
 * Recognizes pasted IDs. Most have a three-letter prefix and 26 characters. Any other text in the form of a correlation
 * ID may be one; since a plain word has that form too, such a result is marked as uncertain.
 */
const PREFIXES = {
  alc: 'allocation',
  nod: 'node',
  slt: 'slot',
  tsk: 'task',
  wfr: 'workflow run',
  ses: 'session',
  prj: 'project',
  org: 'organization',
  usr: 'user',
  sva: 'service account',
  key: 'SSH key',
  tok: 'API token',
  wse: 'browser session',
  inv: 'invitation',
  grt: 'access grant',
  aud: 'audit row',
  evt: 'event',
  clm: 'claim',
  wpf: 'wipe proof',
} as const;

type IdKind = (typeof PREFIXES)[keyof typeof PREFIXES] | 'correlation ID';
export type Recognized = Readonly<{
  id: string;
  kind: IdKind;
  /** False for a text that only might be a correlation ID, such as any long word. */
  isCertain: boolean;
}>;

const PREFIXED = /^([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}$/;
const CORRELATION = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;
/** The format of the platform's own IDs, and texts with enough digits not to be a word. */
const LIKELY_CORRELATION = /^c-[0-9a-z-]{6,}$|(?:\d[^\d]*){4}/i;
/** Characters copied along with an ID from a sentence, a log line or JSON. */
const AROUND = /^[\s"'`([{<]+|[\s"'`)\]}>,.;:]+$/g;

const kindOfPrefix = (prefix: string): IdKind | undefined => (PREFIXES as Readonly<Record<string, IdKind>>)[prefix];

export const recognizeId = (text: string): Recognized | null => {
  const id = text.replace(AROUND, '');
  const lower = id.toLowerCase();
  const kind = kindOfPrefix(PREFIXED.exec(lower)?.[1] ?? '');
  if (kind !== undefined) return { id: lower, kind, isCertain: true };
  return CORRELATION.test(id) ? { id, kind: 'correlation ID', isCertain: LIKELY_CORRELATION.test(id) } : null;
};

/** Kinds that have a trace. */
const TRACEABLE: ReadonlySet<IdKind> = new Set([
  'allocation',
  'node',
  'slot',
  'task',
  'workflow run',
  'correlation ID',
]);
export const isTraceable = ({ kind }: Recognized): boolean => TRACEABLE.has(kind);
