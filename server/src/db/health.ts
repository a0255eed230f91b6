import type { Reader, Tx } from './client.ts';
import { ReadOnlyServer } from './errors.ts';

export type SchemaFacts = Readonly<{ migrated: boolean; passes_policies: boolean }>;

/** Whether a migration was applied, and whether row-level security does not apply to this account. */
export const findSchemaFacts = async (reader: Reader, migration: string): Promise<SchemaFacts> =>
  (
    await reader.query<SchemaFacts>(
      `select exists (select from schema_migrations where name = $1) as migrated,
         coalesce(not row_security_active(to_regclass('public.organizations')), false) as passes_policies`,
      [migration],
    )
  ).rows[0] ?? { migrated: false, passes_policies: false };

/** Whether the database refuses writes: it is a replica, or transactions are read-only by default. */
export const queryReadOnly = async (reader: Reader): Promise<boolean> =>
  (
    await reader.query<{ is_read_only: boolean }>(
      "select pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as is_read_only",
    )
  ).rows[0]?.is_read_only ?? false;

/**
 * A write that is durable when the transaction commits and changes no row: a message in the write-ahead log that nothing
 * reads. The first part refuses where the transaction may not write, which the message alone would not notice.
 */
export const proveWrite = async (tx: Tx): Promise<void> => {
  const { rows } = await tx.query<{ read_only: boolean }>(
    `select current_setting('transaction_read_only') = 'on' as read_only, pg_logical_emit_message(true, 'gpuaas', '')`,
  );
  if (rows[0]?.read_only !== false) throw new ReadOnlyServer('the database accepts no writes');
};
