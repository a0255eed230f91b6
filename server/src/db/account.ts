/**
 * What the account of a connection URL could do beyond the application: an account that owns the tables, or may become
 * their owner, bypasses row-level security and can change the audit log. So can one that may become a superuser or a role
 * that bypasses row-level security, or that creates roles and thereby makes itself a member of others. A role taken after
 * signing in does not bind the connection, so the signed-in account and all roles that it may take decide.
 */
import { connectOnce } from './database-url.ts';

export type AccountPowers = Readonly<{
  account: string;
  is_superuser: boolean;
  bypasses_rls: boolean;
  owns_tables: boolean;
  creates_roles: boolean;
}>;

export const findAccountPowers = async (url: string): Promise<AccountPowers> => {
  const client = await connectOnce(url);
  try {
    const { rows } = await client.query<AccountPowers>(
      `select session_user as account, bool_or(r.rolsuper) as is_superuser, bool_or(r.rolbypassrls) as bypasses_rls,
         bool_or(r.rolcreaterole) as creates_roles, bool_or(exists (
           select from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where n.nspname = 'public' and c.relkind in ('r', 'p') and c.relowner = r.oid)) as owns_tables
       from pg_roles r where pg_has_role(session_user, r.oid, 'MEMBER')`,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the account of this connection is not in pg_roles');
    return row;
  } finally {
    await client.end();
  }
};
