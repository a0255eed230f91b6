/** A site file: YAML or JSON, read with the line of every value, so that a refusal names the line to correct. */
import { GpuaasError, type SiteFile } from '@gpuaas/sdk';
import { isCollection, isScalar, LineCounter, type Node, parseDocument, stringify } from 'yaml';
import { UsageError } from './exit.ts';
import { type Io, readNamed } from './io.ts';

export type ReadSite = Readonly<{
  site: SiteFile;
  /** The same refusal with lines of the file in place of pointers into the request. */
  placed(err: unknown): unknown;
}>;

const POINTER_START = '/body/site';
/** Documents that name one another's values can grow without end. */
const ALIASES_MAX = 100;

const keysOf = (pointer: string): (string | number)[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));

/** `regions[0].name` */
const spoken = (keys: readonly (string | number)[]): string =>
  keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');

export const readSite = async (io: Io, file: string): Promise<ReadSite> => {
  const text = await readNamed(io, file);
  if (text === null) throw new UsageError(`${file} cannot be read.`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [wrong] = document.errors;
  if (wrong !== undefined) {
    const { line, col } = lines.linePos(wrong.pos[0]);
    throw new UsageError(`${file}:${line}:${col}: ${wrong.message.split('\n')[0]}`, 'Correct the YAML and retry.');
  }
  if (!isCollection(document.contents)) throw new UsageError(`${file} holds no site: it must start with "version: 1".`);

  const lineOf = (keys: readonly (string | number)[]): number => {
    for (let depth = keys.length; depth >= 0; depth--) {
      const found = document.getIn(keys.slice(0, depth), true) as Node | undefined;
      if ((isScalar(found) || isCollection(found)) && found.range) return lines.linePos(found.range[0]).line;
    }
    return 1;
  };
  const placed = (err: unknown): unknown => {
    if (!(err instanceof GpuaasError) || !err.errors.some(({ pointer }) => pointer.startsWith(POINTER_START)))
      return err;
    const errors = err.errors.map((one) => {
      if (!one.pointer.startsWith(POINTER_START)) return one;
      const keys = keysOf(one.pointer.slice(POINTER_START.length));
      return { ...one, pointer: `${file}:${lineOf(keys)}: ${spoken(keys)}` };
    });
    const { correlation_id, ...details } = err;
    return new GpuaasError(err.code, err.detail, {
      ...details,
      errors,
      ...(correlation_id === null ? {} : { correlation_id }),
    });
  };
  return { site: document.toJS({ maxAliasCount: ALIASES_MAX }) as SiteFile, placed };
};

/** As people edit it: one row per block, the schema named for editors. */
export const siteText = (site: SiteFile, schemaUrl: string): string =>
  `# yaml-language-server: $schema=${schemaUrl}\n${stringify(site, { lineWidth: 120 })}`;
