import type { Reader } from './client.ts';

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
