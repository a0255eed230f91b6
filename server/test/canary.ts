/** Searches secrets where they must not be: in every table as a dump would hold it, compressed or not. */
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { Client } from 'pg';
import { purposesOf } from '../src/db/trust-key.ts';
import { SEALED_TO } from '../src/domain/sealed.ts';
import type { App } from '../src/roles/process.ts';
import { TEST_KEYS, testSecrets } from './secrets.ts';

/** Text, or the bytes of a key. */
type Secret = string | Buffer;
export type NamedSecrets = Readonly<Record<string, Secret>>;

const unpacked = (bytes: Buffer): Buffer[] => {
  try {
    return [gunzipSync(bytes)];
  } catch {
    return [];
  }
};

/** Plain, as hex and base64, and decompressed with or without a leading version. */
const readings = (value: unknown): string[] => {
  if (Buffer.isBuffer(value))
    return [value, ...unpacked(value), ...unpacked(value.subarray(2))].flatMap((bytes) => [
      bytes.toString('utf8'),
      bytes.toString('hex'),
    ]);
  if (typeof value === 'string') return [value];
  return value === null || value === undefined ? [] : [JSON.stringify(value)];
};

export const spellings = (secret: Secret): string[] => {
  const bytes = Buffer.from(secret);
  const coded = (['hex', 'base64', 'base64url'] as const).map((coding) => bytes.toString(coding));
  return typeof secret === 'string' ? [secret, ...coded] : coded;
};

/** The names of the secrets that a text contains. */
export const secretsIn = (text: string, secrets: NamedSecrets): string[] =>
  Object.entries(secrets).flatMap(([name, secret]) =>
    spellings(secret).some((one) => text.includes(one)) ? [name] : [],
  );

/** `table.column: secret`, for each finding. */
export const scanDatabase = async (sql: Client, secrets: NamedSecrets): Promise<string[]> => {
  const { rows: tables } = await sql.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const found = new Set<string>();
  for (const { name } of tables) {
    const { rows } = await sql.query<Record<string, unknown>>(`select * from ${name}`);
    for (const row of rows)
      for (const [column, value] of Object.entries(row))
        for (const text of readings(value))
          for (const secret of secretsIn(text, secrets)) found.add(`${name}.${column}: ${secret}`);
  }
  return [...found].toSorted();
};

/** The private half of a key in PEM: its last whole line, as the first one begins with what all keys share. */
const privateLine = (pem: string): string => {
  const [begin, ...lines] = pem.trim().split('\n');
  assert.match(begin ?? '', /PRIVATE KEY/);
  return lines.slice(0, -1).findLast((line) => line.length >= 40) ?? '';
};

/** What the platform itself holds: keys outside the database, what they seal, and secrets of the configuration. */
export const platformSecrets = async (sql: Client, { deps }: App): Promise<NamedSecrets> => {
  const rings = { platform: TEST_KEYS.platform_keys, trust: TEST_KEYS.trust_keys };
  const keys = (['platform', 'trust'] as const).flatMap((kind) =>
    [...rings[kind]].map(([version, key]) => [`${kind} key ${version}`, key] as const),
  );
  const root = await sql.query<{ name: string; sealed_secret: Buffer }>(
    'select name, sealed_secret from platform_secrets',
  );
  const trust = await sql.query<{ id: string; purpose: string; sealed_private_key: Buffer }>(
    "select id, purpose, sealed_private_key from trust_keys where state = 'active'",
  );
  const pemOf = ({ id, purpose, sealed_private_key }: (typeof trust.rows)[number]): string => {
    const kind = purposesOf('trust').some((one) => one === purpose) ? 'trust' : 'platform';
    return testSecrets(kind, rings[kind]).open(sealed_private_key, SEALED_TO.trust_key(id));
  };
  const { metrics_token, oidc } = deps.config;
  return {
    ...Object.fromEntries(keys),
    ...Object.fromEntries(
      root.rows.map(({ name, sealed_secret }) => [
        name,
        deps.secrets.openBytes(sealed_secret, SEALED_TO.platform_secret(name)),
      ]),
    ),
    ...Object.fromEntries(trust.rows.map((row) => [row.purpose, privateLine(pemOf(row))])),
    metrics_token: metrics_token ?? '',
    console_client_secret: oidc.console_client_secret ?? '',
  };
};
