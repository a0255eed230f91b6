/**
 * The contents of a database, read from pg_catalog: the one source of schema.sql and of the row types. Only the
 * `public` schema is ours. An object kind that the printer does not know is an error, never an omission.
 */
import type { Client } from 'pg';

export type Column = Readonly<{
  name: string;
  type: string;
  not_null: boolean;
  default: string | null;
  generated: '' | 's';
  identity: '' | 'a' | 'd';
}>;
export type Constraint = Readonly<{
  name: string;
  kind: string;
  definition: string;
  columns: string[];
  target: string | null;
}>;
type Policy = Readonly<{
  name: string;
  permissive: boolean;
  command: string;
  roles: string[];
  using: string | null;
  check: string | null;
}>;
export type Grant = Readonly<{ grantee: string; privilege: string; column: string | null; grantable: boolean }>;

export type Table = Readonly<{
  name: string;
  /** Definition of a partition key, and the bounds and parent of a partition. */
  partition_key: string | null;
  partition_of: string | null;
  partition_bound: string | null;
  row_security: boolean;
  row_security_forced: boolean;
  columns: Column[];
  constraints: Constraint[];
  indexes: string[];
  triggers: string[];
  policies: Policy[];
  grants: Grant[];
}>;

export type Catalog = Readonly<{
  extensions: string[];
  enums: Readonly<{ name: string; labels: string[] }>[];
  /** `reads`: the table whose row it takes, which must be created before it. */
  functions: Readonly<{ definition: string; reads: string | null }>[];
  sequences: Readonly<{ name: string; grants: Grant[] }>[];
  tables: Table[];
  views: Readonly<{ name: string; definition: string; grants: Grant[] }>[];
}>;

const GRANTS = `coalesce((
  select json_agg(json_build_object('grantee', g.rolname, 'privilege', lower(a.privilege_type), 'column', a.col,
    'grantable', a.is_grantable) order by g.rolname, a.privilege_type, a.col)
  from (
    select x.*, null as col from aclexplode(c.relacl) x
    union all
    select x.*, t.attname from pg_attribute t, aclexplode(t.attacl) x where t.attrelid = c.oid
  ) a join pg_roles g on g.oid = a.grantee where a.grantee <> c.relowner), '[]') as grants`;

const TABLES = `
select c.relname as name,
  pg_get_partkeydef(c.oid) as partition_key,
  (select inhparent::regclass::text from pg_inherits where inhrelid = c.oid) as partition_of,
  pg_get_expr(c.relpartbound, c.oid) as partition_bound,
  c.relrowsecurity as row_security, c.relforcerowsecurity as row_security_forced,
  coalesce((select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
      'not_null', a.attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid), 'generated', a.attgenerated,
      'identity', a.attidentity) order by a.attnum)
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]') as columns,
  coalesce((select json_agg(json_build_object('name', k.conname, 'kind', k.contype,
      'definition', pg_get_constraintdef(k.oid, true), 'target', nullif(k.confrelid, 0)::regclass::text,
      'columns', (select json_agg(a.attname order by array_position(k.conkey, a.attnum))
        from pg_attribute a where a.attrelid = c.oid and a.attnum = any(k.conkey)))
      order by position(k.contype::text in 'pucfx'), k.conname)
    from pg_constraint k where k.conrelid = c.oid and k.contype <> 't' and k.conparentid = 0 and k.coninhcount = 0), '[]') as constraints,
  coalesce((select json_agg(pg_get_indexdef(i.indexrelid) order by i.indexrelid::regclass::text)
    from pg_index i where i.indrelid = c.oid
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
      and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)), '[]') as indexes,
  coalesce((select json_agg(pg_get_triggerdef(t.oid, true) order by t.tgname)
    from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgparentid = 0), '[]') as triggers,
  coalesce((select json_agg(json_build_object('name', p.policyname, 'permissive', p.permissive = 'PERMISSIVE',
      'command', lower(p.cmd), 'roles', p.roles, 'using', p.qual, 'check', p.with_check) order by p.policyname)
    from pg_policies p where p.schemaname = 'public' and p.tablename = c.relname), '[]') as policies,
  ${GRANTS}
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname`;

const UNKNOWN = `
select relkind::text || ' ' || relname as what from pg_class
  where relnamespace = 'public'::regnamespace and relkind not in ('r', 'p', 'i', 'I', 'v', 'S', 'c')
union all select 'type ' || typname from pg_type t
  where typnamespace = 'public'::regnamespace and typtype not in ('b', 'e')
    and not exists (select from pg_class c where c.oid = t.typrelid and c.relkind <> 'c')
union all select 'rule ' || rulename from pg_rules where schemaname = 'public'
union all select 'aggregate ' || proname from pg_proc where pronamespace = 'public'::regnamespace and prokind <> 'f'`;

export const readCatalog = async (client: Client): Promise<Catalog> => {
  const all = async <R extends object>(text: string): Promise<R[]> => (await client.query<R>(text)).rows;
  // PostgreSQL omits schemas on the search path, so the text does not depend on the session's settings.
  await client.query("set search_path = 'public'");
  const unknown = await all<{ what: string }>(UNKNOWN);
  if (unknown.length > 0)
    throw new Error(`The catalog printer does not know: ${unknown.map((row) => row.what).join(', ')}.`);
  const extensions = await all<{ name: string }>(
    "select extname as name from pg_extension where extname <> 'plpgsql' order by 1",
  );
  return {
    extensions: extensions.map((row) => row.name),
    enums: await all(`select t.typname as name, json_agg(e.enumlabel order by e.enumsortorder) as labels
      from pg_type t join pg_enum e on e.enumtypid = t.oid where t.typnamespace = 'public'::regnamespace
      group by 1 order by 1`),
    functions: await all(`select pg_get_functiondef(p.oid) as definition,
        (select c.relname from pg_class c where c.reltype = any (p.proargtypes) limit 1) as reads from pg_proc p
      where p.pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      order by p.proname, pg_get_function_identity_arguments(p.oid)`),
    // A sequence of an identity column belongs to its table's definition.
    sequences: await all(`select c.relname as name, ${GRANTS} from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i') order by 1`),
    tables: await all<Table>(TABLES),
    views: await all(`select c.relname as name, pg_get_viewdef(c.oid, true) as definition, ${GRANTS} from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' order by 1`),
  };
};
