/** Facts about the whole site, for its checks and for the steps of its setup. Each query is read for itself. */
import type { SiteFacts } from '../domain/doctor-facts.ts';
import type { SetupFacts } from '../domain/setup.ts';
import type { Reader } from './client.ts';
import { CURRENT_VERSION } from './os-image.ts';
import { agentIsSeen, currentPrice, NODE_OVER, skuHasDefaultImage, unapprovedDiskCount } from './predicates.ts';
import type { TrustKeys } from './types.gen.ts';

const only = <R>(rows: readonly R[]): R => {
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no row');
  return row;
};

export const findDatabaseFacts = async (reader: Reader): Promise<Omit<SiteFacts['database'], 'is_production'>> =>
  only(
    (
      await reader.query<Omit<SiteFacts['database'], 'is_production'>>(
        `select current_setting('server_version') as version, current_setting('server_version_num')::integer as version_number,
           session_user::text as account, coalesce(not row_security_active(to_regclass('public.organizations')), false) as passes_policies,
           exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public'
             and c.relkind in ('r', 'p') and pg_has_role(session_user, c.relowner, 'MEMBER')) as owns_tables`,
      )
    ).rows,
  );

export const listAppliedMigrations = async (reader: Reader): Promise<string[]> =>
  (await reader.query<{ name: string }>('select name from schema_migrations order by name')).rows.map(
    ({ name }) => name,
  );

export const findWritableFacts = async (reader: Reader): Promise<SiteFacts['writable']> =>
  only(
    (
      await reader.query<SiteFacts['writable']>(
        `select pg_is_in_recovery() as is_standby, current_setting('default_transaction_read_only') = 'on' as is_read_only,
           extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 as replay_lag_s`,
      )
    ).rows,
  );

/** An account without the rights of pg_monitor sees that standbys stream, and not how far they are. */
export const findStandbyFacts = async (reader: Reader): Promise<SiteFacts['standbys']> =>
  only(
    (
      await reader.query<SiteFacts['standbys']>(
        `select count(*) as count, case when bool_and(state is not null)
             then coalesce(max(extract(epoch from replay_lag)), 0)::float8 end as lag_s
         from pg_stat_replication`,
      )
    ).rows,
  );

export const queryDatabaseTime = async (reader: Reader): Promise<string> =>
  only((await reader.query<{ now: string }>('select clock_timestamp() as now')).rows).now;

export type TrustKeyFact = Readonly<
  Pick<TrustKeys, 'purpose' | 'state'> & { state_age_s: number; ca_pem: string | null }
>;

export const listTrustKeyFacts = async (reader: Reader): Promise<TrustKeyFact[]> =>
  (
    await reader.query<TrustKeyFact>(
      `select purpose, state, extract(epoch from clock_timestamp() - state_since)::float8 as state_age_s,
         case when purpose = 'node_ca' and state = 'active' then public_pem end as ca_pem
       from trust_keys where state in ('requested', 'staged', 'active', 'grace') order by id`,
    )
  ).rows;

export type AnsweredListener = Readonly<{
  names: string[];
  certificate_pem: string | null;
  refusal: string | null;
}>;

/** The last answer to a gateway. */
export const findAnsweredListener = async (reader: Reader): Promise<AnsweredListener | undefined> =>
  (
    await reader.query<AnsweredListener>(
      `select names, certificate_pem, refusal from listener_requests where answered_at is not null
       order by answered_at desc, id desc limit 1`,
    )
  ).rows[0];

export const listAgentFacts = async (reader: Reader): Promise<SiteFacts['agents']['agents']> =>
  (
    await reader.query<SiteFacts['agents']['agents'][number]>(
      `select n.name, a.agent_version as version, ${agentIsSeen('a')} as is_connected, a.clock_skew_ms
       from node_agents a join nodes n on n.id = a.node_id and not n.state ${NODE_OVER} order by n.name`,
    )
  ).rows;

export const findGpuModelFacts = async (reader: Reader): Promise<SiteFacts['gpu_models']> =>
  only(
    (
      await reader.query<SiteFacts['gpu_models']>(
        `select count(*) filter (where gpus_found <> '[]') as nodes_compared,
           array(select c.gpu_model_conflict from nodes c where c.gpu_model_conflict is not null and c.state not ${NODE_OVER} order by c.name) as conflicts
         from nodes n where n.state not ${NODE_OVER}`,
      )
    ).rows,
  );

/** An image counts by the version that a launch gets now. */
export const findImageFacts = async (reader: Reader): Promise<SiteFacts['images']> => {
  const [images, nodes] = await Promise.all([
    reader.query<SiteFacts['images']['images'][number]>(
      `select i.name, (select count(*) from node_inventories v join nodes n on n.id = v.node_id and not n.state ${NODE_OVER}
         where v.content @> jsonb_build_object('images', jsonb_build_object('value', jsonb_build_array(
           jsonb_build_object('digest', c.digest))))) as nodes_with_it
       from os_images i cross join lateral (${CURRENT_VERSION}) c where i.retired_at is null order by i.name`,
    ),
    reader.query<{ count: number }>("select count(*) as count from nodes where state = 'active'"),
  ]);
  return { images: images.rows, active_nodes: only(nodes.rows).count };
};

type ReadSetupFacts = Omit<SetupFacts, 'issuer' | 'newest_backup_at' | 'sign_up' | 'superadmin_emails'> &
  Readonly<{ newest_node_id: string | null }>;

/** Counts stop at two: a step asks for one, and its detail says whether there are more. */
const someOf = (from: string): string => `(select count(*) from (select ${from} limit 2) counted)`;

/** Enabled SKUs of slices, as `k`; a further condition follows. */
const SLICES = "sku_catalog k where k.enabled and k.retired_at is null and k.capacity_shape = 'gpu_slice'";

export const findSetupFacts = async (reader: Reader): Promise<ReadSetupFacts> => {
  const ofNode = `from nodes n where not n.state ${NODE_OVER}`;
  const { rows } = await reader.query<ReadSetupFacts>(
    `select ${someOf('from users')} as users, ${someOf("from users where platform_role = 'superadmin' and state = 'active'")} as superadmins,
       array(select distinct purpose from trust_keys where state = 'active' order by 1) as trust_purposes,
       ${someOf('from regions where enabled and retired_at is null')} as regions,
       ${someOf('from sku_catalog where enabled and retired_at is null')} as skus,
       ${someOf(`from sku_catalog k where k.enabled and k.retired_at is null and exists (${currentPrice('k.name')})`)} as priced_skus,
       (select min(k.name) from ${SLICES} and exists (select from unnest(k.allowed_gpu_counts) as c (gpu_count) where not exists (
         select from sku_vm_profiles f where f.sku_name = k.name and f.gpu_count = c.gpu_count and f.is_default and f.retired_at is null)))
         as sku_without_profile,
       (select min(k.name) from ${SLICES} and not exists (select from os_image_skus x join os_images i on i.name = x.image_name
           and i.retired_at is null and i.channel = 'stable' and i.trust = 'verified'
         cross join lateral (${CURRENT_VERSION}) c where x.sku_name = k.name)) as sku_without_image,
       (select min(k.name) from ${SLICES} and not ${skuHasDefaultImage('k')}) as sku_without_default_image,
       (select min(name) from regions where enabled and retired_at is null) as region_name,
       (select min(name) from sku_catalog where enabled and retired_at is null) as sku_name,
       newest.name as newest_node, newest.id as newest_node_id,
       ${someOf(ofNode)} as nodes,
       ${someOf(`${ofNode} and exists (select from node_agents a where a.node_id = n.id)`)} as enrolled_nodes,
       ${someOf(`${ofNode} and exists (select from topology_discoveries d where d.node_id = n.id)`)} as discovered_nodes,
       ${someOf(`${ofNode} and (exists (select from node_resource_slots s where s.node_id = n.id and s.approval = 'approved')
         or n.capacity_mode = 'baremetal' and n.state = 'active' and n.data_disks <> '[]' and ${unapprovedDiskCount('n')} = 0)`)} as approved_nodes,
       exists (select from usage_records) as has_launched
     from (select) one left join lateral (select n.id, n.name ${ofNode} order by n.created_at desc limit 1) newest on true`,
  );
  return only(rows);
};

/** Null where this database has no policy. Its first row is the default; a decision raises its version. */
export const findSignUpFact = async (reader: Reader): Promise<SetupFacts['sign_up']> => {
  const known = await reader.query<{ is_there: boolean }>(
    "select to_regclass('public.site_policy') is not null as is_there",
  );
  if (!only(known.rows).is_there) return null;
  const { rows } = await reader.query<NonNullable<SetupFacts['sign_up']>>(
    'select sign_up as policy, version > 1 as is_decided from site_policy',
  );
  return rows[0] ?? null;
};
