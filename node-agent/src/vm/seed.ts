/**
 * The disc with the cloud-init data of a guest OS: an ISO 9660 image with the label CIDATA and a few files in its root.
 * Each name is stored three times, as ISO 9660, as Rock Ridge and as Joliet, because guest systems read one or the
 * other. The same files give the same bytes, so a seed can be created again and compared.
 */
import { HostError } from '../host/host.ts';

export const SEED_LABEL = 'CIDATA';

const SECTOR = 2048;
const FIRST_DESCRIPTOR = 16;
const PATH_TABLES = { plain: 19, joliet: 21 } as const;
const ROOTS = { plain: 23, joliet: 24 } as const;
const FIRST_FILE = 25;
const FILES_MAX = 16;
/** 1980-01-01: a constant time. */
const DATE = Buffer.from([80, 1, 1, 0, 0, 0, 0]);
const NO_DATE = Buffer.concat([Buffer.alloc(16, '0'), Buffer.alloc(1)]);

type Content = Readonly<{ name: string; bytes: Buffer; sector: number }>;
type Names = 'plain' | 'joliet';

/** Numbers are stored twice, little-endian and big-endian. */
const both16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(value, 0);
  bytes.writeUInt16BE(value, 2);
  return bytes;
};
const both32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(value, 0);
  bytes.writeUInt32BE(value, 4);
  return bytes;
};
const ucs2 = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const padded = (bytes: Buffer, length: number, fill: Buffer | string = ' '): Buffer =>
  Buffer.concat([bytes, Buffer.alloc(Math.max(0, length - bytes.length), fill)]).subarray(0, length);
const sectorsOf = (length: number): number => Math.ceil(length / SECTOR);
const toSectors = (bytes: Buffer): Buffer => padded(bytes, Math.max(1, sectorsOf(bytes.length)) * SECTOR, '\0');

/** A system use field of Rock Ridge. */
const field = (signature: string, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(signature), Buffer.from([body.length + 4, 1]), body]);
};
const modeField = (mode: number, links: number): Buffer =>
  field('PX', both32(mode), both32(links), both32(0), both32(0));
const nameField = (name: string): Buffer => field('NM', Buffer.from([0]), Buffer.from(name));
const ROCK_RIDGE = 'RRIP_1991A';
/** On the root alone: declares these fields and their version. */
const START_FIELDS = [
  field('SP', Buffer.from([0xbe, 0xef, 0])),
  field('ER', Buffer.from([ROCK_RIDGE.length, 0, 0, 1]), Buffer.from(ROCK_RIDGE)),
];

const record = (given: {
  name: Buffer;
  sector: number;
  length: number;
  isFolder: boolean;
  fields?: readonly Buffer[];
}): Buffer => {
  const name = given.name.length % 2 === 0 ? Buffer.concat([given.name, Buffer.alloc(1)]) : given.name;
  const fields = Buffer.concat([...(given.fields ?? [])]);
  const length = 33 + name.length + fields.length;
  const bytes = Buffer.concat([
    Buffer.from([length + (length % 2), 0]),
    both32(given.sector),
    both32(given.length),
    DATE,
    Buffer.from([given.isFolder ? 2 : 0, 0, 0]),
    both16(1),
    Buffer.from([given.name.length]),
    name,
    fields,
  ]);
  return padded(bytes, length + (length % 2), '\0');
};

/** Eight capital letters, as the oldest readers require. */
const plainName = (name: string): string =>
  `${name
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_')
    .slice(0, 8)}.;1`;

const rootFolder = (files: readonly Content[], names: Names): Buffer => {
  const self = { sector: ROOTS[names], length: SECTOR, isFolder: true };
  const isPlain = names === 'plain';
  const mode = isPlain ? [modeField(0o040555, 2)] : [];
  const entries = files
    .map((file) => ({ file, name: isPlain ? Buffer.from(plainName(file.name)) : ucs2(file.name) }))
    .toSorted((a, b) => Buffer.compare(a.name, b.name))
    .map(({ file, name }) =>
      record({
        name,
        sector: file.sector,
        length: file.bytes.length,
        isFolder: false,
        fields: isPlain ? [modeField(0o100444, 1), nameField(file.name)] : [],
      }),
    );
  const start = record({ ...self, name: Buffer.from([0]), fields: isPlain ? [...START_FIELDS, ...mode] : [] });
  const folder = Buffer.concat([start, record({ ...self, name: Buffer.from([1]), fields: mode }), ...entries]);
  if (folder.length > SECTOR) throw new HostError('blocked', 'the seed has more file names than fit in one sector');
  return toSectors(folder);
};

/** One entry, the root. */
const pathTable = (sector: number, isBig: boolean): Buffer => {
  const bytes = Buffer.alloc(10);
  bytes[0] = 1;
  if (isBig) bytes.writeUInt32BE(sector, 2);
  else bytes.writeUInt32LE(sector, 2);
  if (isBig) bytes.writeUInt16BE(1, 6);
  else bytes.writeUInt16LE(1, 6);
  return bytes;
};

const descriptor = (names: Names, sectors: number): Buffer => {
  const isPlain = names === 'plain';
  const text = (value: string, length: number): Buffer =>
    isPlain ? padded(Buffer.from(value), length) : padded(ucs2(value), length, Buffer.from([0, 0x20]));
  const tables = PATH_TABLES[names];
  const table = Buffer.alloc(16);
  table.writeUInt32LE(tables, 0);
  table.writeUInt32BE(tables + 1, 8);
  return toSectors(
    Buffer.concat([
      Buffer.from([isPlain ? 1 : 2]),
      Buffer.from('CD001'),
      Buffer.from([1, 0]),
      text('', 32),
      text(SEED_LABEL, 32),
      Buffer.alloc(8),
      both32(sectors),
      // The escape sequence for UCS-2, level 3.
      padded(Buffer.from(isPlain ? '' : '%/E'), 32, '\0'),
      both16(1),
      both16(1),
      both16(SECTOR),
      both32(pathTable(0, false).length),
      table,
      record({ name: Buffer.from([0]), sector: ROOTS[names], length: SECTOR, isFolder: true }),
      text('', 128 * 4 + 37 * 3),
      NO_DATE,
      NO_DATE,
      NO_DATE,
      NO_DATE,
      Buffer.from([1, 0]),
    ]),
  );
};

const END = toSectors(Buffer.concat([Buffer.from([255]), Buffer.from('CD001'), Buffer.from([1])]));

export const writeSeed = (files: Readonly<Record<string, string>>): Buffer => {
  const entries = Object.entries(files);
  const names = entries.map(([name]) => name);
  if (entries.length > FILES_MAX || names.some((name) => !/^[a-z][a-z0-9-]{0,30}$/.test(name)))
    throw new HostError('blocked', `a seed has at most ${FILES_MAX} files with plain names`);
  if (new Set(names.map(plainName)).size !== names.length)
    throw new HostError('blocked', 'two files of a seed have the same first eight letters');
  let sector = FIRST_FILE;
  const contents = entries.map(([name, text]): Content => {
    const bytes = Buffer.from(text, 'utf8');
    const content = { name, bytes, sector };
    sector += Math.max(1, sectorsOf(bytes.length));
    return content;
  });
  return Buffer.concat([
    Buffer.alloc(FIRST_DESCRIPTOR * SECTOR),
    descriptor('plain', sector),
    descriptor('joliet', sector),
    END,
    ...(['plain', 'joliet'] as const).flatMap((each) =>
      [false, true].map((isBig) => toSectors(pathTable(ROOTS[each], isBig))),
    ),
    rootFolder(contents, 'plain'),
    rootFolder(contents, 'joliet'),
    ...contents.map(({ bytes }) => toSectors(bytes)),
  ]);
};
