/** What a site file refers to by name, and the limits it can state. */
import type { Reader, Tx } from '../client.ts';
import { LOCKS } from '../lock.ts';
import { quotaIsSet } from '../quota.ts';

/** One site file at a time. */
export const lockSite = async (tx: Tx): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCKS.site]);
};

export const readNow = async (reader: Reader): Promise<string> => {
  const [row] = (await reader.query<{ now: string }>('select statement_timestamp() as now')).rows;
  if (row === undefined) throw new Error('The database states no time.');
  return row.now;
};

export type NamedPlace = Readonly<{
  organization_id: string;
  organization: string;
  project_id: string | null;
  project: string | null;
}>;

/** The organizations of these names, and their projects. */
export const listPlaces = async (reader: Reader, organizations: readonly string[]): Promise<NamedPlace[]> =>
  (
    await reader.query<NamedPlace>(
      `select o.id as organization_id, o.name as organization, null as project_id, null as project
         from organizations o where o.name = any ($1)
       union all select o.id, o.name, p.id, p.name
         from organizations o join projects p on p.organization_id = o.id and p.deleted_at is null where o.name = any ($1)`,
      [organizations],
    )
  ).rows;

export type NamedQuota = NamedPlace & Readonly<{ gpu_limit: number | null }>;

/** The limits that operators set, see `quotaIsSet`. */
export const listNamedQuotas = async (reader: Reader): Promise<NamedQuota[]> =>
  (
    await reader.query<NamedQuota>(
      `select o.id as organization_id, o.name as organization, p.id as project_id, p.name as project, q.gpu_limit
       from quotas q join organizations o on o.id = q.organization_id
       left join projects p on p.id = q.project_id and p.deleted_at is null
       where ${quotaIsSet('q')} and (q.project_id = '' or p.id is not null)`,
    )
  ).rows;

export type NamedMapping = Readonly<{
  id: string;
  group: string;
  organization: string;
  project: string | null;
  role: 'admin' | 'member' | 'viewer';
}>;

/** A mapping of a deleted project gives nothing and is not part of a site. */
export const listNamedMappings = async (reader: Reader): Promise<NamedMapping[]> =>
  (
    await reader.query<NamedMapping>(
      `select m.id, m.group_name as "group", o.name as organization, p.name as project, m.role
       from group_mappings m join organizations o on o.id = m.organization_id
       left join projects p on p.id = m.project_key where m.project_key is null or p.deleted_at is null`,
    )
  ).rows;

/** Every version of every image, newest first. */
export const listImageVersions = async (
  reader: Reader,
): Promise<{ image_name: string; digest: string; is_retired: boolean }[]> =>
  (
    await reader.query<{ image_name: string; digest: string; is_retired: boolean }>(
      `select image_name, digest, retired_at is not null as is_retired from os_image_versions
       order by image_name, registered_at desc, digest`,
    )
  ).rows;
