/**
 * Every column that holds sealed values, with the kind of key that seals it and what its values are bound to. A
 * rotation reads and rewrites these columns, so a column that is not in the list would be lost with its key; a test
 * compares the list with the schema.
 */
import { SEALED_TO } from '../../domain/sealed.ts';
import type { Reader, Tx } from '../client.ts';
import type { KeyKind } from '../platform-key.ts';
import { purposesOf } from '../trust-key.ts';

// biome-ignore lint/suspicious/noExplicitAny: rows of many tables; each column names the fields that it reads
type Row = any;

export type SealedColumn = Readonly<{
  table: string;
  column: string;
  kind: KeyKind;
  /** The primary key, in whose order the table is read. */
  key: readonly string[];
  /** Which rows of the table hold a sealed value of this kind. */
  where?: string;
  /** Columns that `boundTo` reads beside the key. */
  reads?: readonly string[];
  /** An earlier build stored its values in plain text; the migration marked them with version 0. */
  hasPlain?: true;
  boundTo(row: Row): string;
}>;

const ofPurposes = (kind: KeyKind): string =>
  `purpose in (${purposesOf(kind)
    .map((purpose) => `'${purpose}'`)
    .join(', ')})`;

const trustKeys = (kind: KeyKind): SealedColumn => ({
  table: 'trust_keys',
  column: 'sealed_private_key',
  kind,
  key: ['id'],
  where: ofPurposes(kind),
  boundTo: ({ id }) => SEALED_TO.trust_key(id),
});

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  trustKeys('trust'),
  trustKeys('platform'),
  {
    table: 'oidc_signing_keys',
    column: 'sealed_jwk',
    kind: 'platform',
    key: ['kid'],
    boundTo: ({ kid }) => SEALED_TO.oidc_signing_key(kid),
  },
  {
    table: 'oidc_records',
    column: 'sealed_payload',
    kind: 'platform',
    key: ['model', 'id_hash'],
    boundTo: ({ model, id_hash }) => SEALED_TO.oidc_record(model, id_hash),
  },
  {
    table: 'web_sessions',
    column: 'id_token_sealed',
    kind: 'platform',
    key: ['id'],
    boundTo: ({ id }) => SEALED_TO.id_token(id),
  },
  {
    table: 'idempotency_keys',
    column: 'response',
    kind: 'platform',
    key: ['tenant', 'principal_id', 'operation', 'key'],
    where: 'response_sealed',
    boundTo: SEALED_TO.response,
  },
  {
    table: 'allocation_user_data',
    column: 'sealed_user_data',
    kind: 'platform',
    key: ['allocation_id'],
    hasPlain: true,
    boundTo: ({ allocation_id }) => SEALED_TO.user_data(allocation_id),
  },
  {
    table: 'allocation_installs',
    column: 'sealed_user_data',
    kind: 'platform',
    key: ['allocation_id'],
    hasPlain: true,
    boundTo: ({ allocation_id }) => SEALED_TO.user_data(allocation_id),
  },
  {
    table: 'node_tasks',
    column: 'sealed_user_data',
    kind: 'platform',
    key: ['id'],
    reads: ['allocation_id'],
    hasPlain: true,
    boundTo: ({ allocation_id }) => SEALED_TO.user_data(allocation_id),
  },
  {
    table: 'terminal_recordings',
    column: 'sealed_content',
    kind: 'platform',
    key: ['session_id', 'part'],
    hasPlain: true,
    boundTo: ({ session_id, part }) => SEALED_TO.recording(session_id, part),
  },
  {
    table: 'platform_secrets',
    column: 'sealed_secret',
    kind: 'platform',
    key: ['name'],
    boundTo: ({ name }) => SEALED_TO.platform_secret(name),
  },
];

const isSealed = ({ column, where }: SealedColumn): string =>
  `${column} is not null${where === undefined ? '' : ` and ${where}`}`;

export type SealedRow = Readonly<{ key: readonly unknown[]; bound_to: string; sealed: Buffer }>;

/** Rows after the last one that another version sealed, locked. Rows locked by others are left for the next pass. */
export const lockSealedRows = async (
  tx: Tx,
  column: SealedColumn,
  page: Readonly<{ active: number; after: readonly unknown[] | null; limit: number; is_plain: boolean }>,
): Promise<SealedRow[]> => {
  const key = column.key.join(', ');
  const behind = page.after === null ? '' : `and (${key}) > (${column.key.map((_, n) => `$${n + 3}`).join(', ')})`;
  const { rows } = await tx.query<Row>(
    `select ${[...column.key, ...(column.reads ?? [])].join(', ')}, ${column.column} as sealed from ${column.table}
     where ${isSealed(column)} and sealed_version(${column.column}) <> $1 and sealed_version(${column.column}) ${page.is_plain ? '=' : '<>'} 0 ${behind}
     order by ${key} limit $2 for update skip locked`,
    [page.active, page.limit, ...(page.after ?? [])],
  );
  return rows.map((row) => ({
    key: column.key.map((name) => row[name]),
    bound_to: column.boundTo(row),
    sealed: row.sealed,
  }));
};

export const putSealed = async (
  tx: Tx,
  column: SealedColumn,
  row: Readonly<{ key: readonly unknown[]; sealed: Buffer }>,
): Promise<void> => {
  const same = column.key.map((name, n) => `${name} = $${n + 2}`).join(' and ');
  await tx.query(`update ${column.table} set ${column.column} = $1 where ${same}`, [row.sealed, ...row.key]);
};

/** The number of values sealed by each version of each kind. */
export const countSealed = async (
  reader: Reader,
  kind?: KeyKind,
): Promise<Readonly<{ kind: KeyKind; version: number; count: number }>[]> => {
  const columns = SEALED_COLUMNS.filter((one) => kind === undefined || one.kind === kind);
  const counts = columns.map(
    (one) =>
      `select '${one.kind}' as kind, sealed_version(${one.column}) as version from ${one.table} where ${isSealed(one)}`,
  );
  return (
    await reader.query<{ kind: KeyKind; version: number; count: number }>(
      `select kind, version, count(*) as count from (${counts.join(' union all ')}) v group by kind, version`,
    )
  ).rows;
};
