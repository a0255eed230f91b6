/** Searches secrets where they must not be: in every table as a dump would hold it, compressed or not. */
import { gunzipSync } from 'node:zlib';
import type { Client } from 'pg';

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
    return [value, ...unpacked(value), ...unpacked(value.subarray(2))].map((bytes) => bytes.toString('utf8'));
  if (typeof value === 'string') return [value];
  return value === null || value === undefined ? [] : [JSON.stringify(value)];
};

export const spellings = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')];
};

/** The names of the secrets that a text contains. */
export const secretsIn = (text: string, secrets: Readonly<Record<string, string>>): string[] =>
  Object.entries(secrets).flatMap(([name, secret]) =>
    spellings(secret).some((one) => text.includes(one)) ? [name] : [],
  );

/** `table.column: secret`, for each finding. */
export const scanDatabase = async (sql: Client, secrets: Readonly<Record<string, string>>): Promise<string[]> => {
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
