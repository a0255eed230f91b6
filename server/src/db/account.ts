/**
 * What the account of a connection URL could do beyond the application: an account that owns the tables, or may become
 * their owner, bypasses row-level security and can change the audit log. A role taken after signing in does not bind
 * the connection, so the signed-in account decides.
 */
import { connectOnce } from './database-url.ts';

export type AccountPowers = Readonly<{
  account: string;
  is_superuser: boolean;
  bypasses_rls: boolean;
  owns_tables: boolean;
}>;

export const findAccountPowers = async (url: string): Promise<AccountPowers> => {
  const client = await connectOnce(url);
  try {
    const { rows } = await client.query<AccountPowers>(
      `select r.rolname as account, r.rolsuper as is_superuser, r.rolbypassrls as bypasses_rls, exists (
         select from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'public' and c.relkind in ('r', 'p') and pg_has_role(r.oid, c.relowner, 'MEMBER')) as owns_tables
       from pg_roles r where r.rolname = session_user`,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the account of this connection is not in pg_roles');
    return row;
  } finally {
    await client.end();
  }
};
