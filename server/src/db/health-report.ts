/** Reports, overrides and the circuit breaker. */
import type { HealthAlert, HealthReport } from '@gpuaas/contract/node';
import type { HealthOverride, SlotTargets } from '../domain/health.ts';
import type { Reader, Tx } from './client.ts';
import { NODE_OVER } from './predicates.ts';
import { statement } from './statement.ts';
import type { HealthBreaker } from './types.gen.ts';

export type ReportRow = HealthReport;

export type OverrideRow = HealthOverride & Readonly<{ reason: string; created_by: string; created_at: string }>;

export type SlotHealthRow = SlotTargets &
  Readonly<{ slot_index: number; health: 'ok' | 'unhealthy' | 'unknown'; alerts: readonly HealthAlert[] | null }>;

export type BreakerRow = Readonly<
  Pick<HealthBreaker, 'is_tripped' | 'tripped_at' | 'reason' | 'reset_by' | 'reset_at' | 'version'>
>;

/** The maximum number of sources per node; each stays until the node is deleted. */
const SOURCES_MAX = 16;

const UPSERT_REPORT = statement(
  {
    node_id: 'text',
    source: 'text',
    observed_at: 'timestamptz',
    successes: 'jsonb',
    alerts: 'jsonb',
    sources_max: 'integer',
  },
  `insert into node_health_reports as r (node_id, source, observed_at, successes, alerts)
   select :node_id, :source, :observed_at, :successes, :alerts
   where :observed_at <= clock_timestamp() + interval '5 min 10 s' and (select count(*) from node_health_reports o
     where o.node_id = :node_id and o.source <> :source) < :sources_max
   on conflict (node_id, source) do update set observed_at = excluded.observed_at, received_at = clock_timestamp(),
     successes = excluded.successes, alerts = excluded.alerts where r.observed_at <= excluded.observed_at`,
);

/** False when a newer report of this source exists, when it is from the future, or above the source limit. */
export const upsertReport = async (tx: Tx, nodeId: string, report: HealthReport): Promise<boolean> =>
  (await UPSERT_REPORT.query(tx, { ...report, node_id: nodeId, sources_max: SOURCES_MAX })).rowCount === 1;

/**
 * The previous report, and whether the result may have changed since for another reason: a reset, an override that
 * ended.
 */
export const findReport = async (
  reader: Reader,
  nodeId: string,
  source: string,
): Promise<Readonly<{ alerts: readonly HealthAlert[]; is_stale: boolean }> | undefined> =>
  (
    await reader.query<{ alerts: HealthAlert[]; is_stale: boolean }>(
      `select r.alerts, r.received_at < coalesce((select reset_at from health_breaker), '-infinity') or exists (
           select from node_health_overrides o where o.node_id = $1 and o.expires_at between r.received_at and clock_timestamp()) as is_stale
       from node_health_reports r where r.node_id = $1 and r.source = $2`,
      [nodeId, source],
    )
  ).rows[0];

export const listReports = async (reader: Reader, nodeId: string): Promise<ReportRow[]> =>
  (
    await reader.query<ReportRow>(
      'select source, observed_at, successes, alerts from node_health_reports where node_id = $1 order by source',
      [nodeId],
    )
  ).rows;

export const listOverrides = async (reader: Reader, nodeId: string): Promise<OverrideRow[]> =>
  (
    await reader.query<OverrideRow>(
      `select source, mode, alerts, muted_alert_ids, reason, created_by, created_at, expires_at from node_health_overrides
       where node_id = $1 order by source`,
      [nodeId],
    )
  ).rows;

const PUT_OVERRIDE = statement(
  {
    node_id: 'text',
    source: 'text',
    mode: 'text',
    alerts: 'jsonb',
    muted_alert_ids: 'text[]',
    reason: 'text',
    created_by: 'text',
    expires_at: 'timestamptz | null',
  },
  `insert into node_health_overrides (node_id, source, mode, alerts, muted_alert_ids, reason, created_by, expires_at)
   values (:node_id, :source, :mode, :alerts, :muted_alert_ids, :reason, :created_by, :expires_at)
   on conflict (node_id, source) do update set mode = excluded.mode, alerts = excluded.alerts,
     muted_alert_ids = excluded.muted_alert_ids, reason = excluded.reason, created_by = excluded.created_by,
     created_at = clock_timestamp(), expires_at = excluded.expires_at`,
);

export const putOverride = async (
  tx: Tx,
  nodeId: string,
  row: HealthOverride & Readonly<{ reason: string; created_by: string }>,
): Promise<void> => {
  await PUT_OVERRIDE.query(tx, { ...row, node_id: nodeId });
};

export const deleteOverride = async (tx: Tx, nodeId: string, source: string): Promise<boolean> =>
  (await tx.query('delete from node_health_overrides where node_id = $1 and source = $2', [nodeId, source]))
    .rowCount === 1;

export const listSlotHealth = async (reader: Reader, nodeId: string): Promise<SlotHealthRow[]> =>
  (
    await reader.query<SlotHealthRow>(
      `select id, slot_index, health, health_detail -> 'alerts' as alerts, gpu_pci_address, nvme_serial, fabric_vf_pci_address
       from node_resource_slots where node_id = $1 order by slot_index`,
      [nodeId],
    )
  ).rows;

/**
 * GPUs, disks and functions of a slice node outside all slots: unapproved candidates. A whole node is allocated with
 * all of them.
 */
export const listUnallocatedTargets = async (reader: Reader, nodeId: string): Promise<string[]> =>
  (
    await reader.query<{ target: string }>(
      `select t.target from topology_candidates c join nodes n on n.id = c.node_id and n.capacity_mode = 'slice'
       cross join lateral (values (c.content ->> 'gpu_pci_address'), (c.content ->> 'nvme_serial'),
         (c.content ->> 'fabric_vf_pci_address')) t (target)
       where c.task_id = (select max(d.task_id) from topology_discoveries d where d.node_id = $1) and t.target is not null`,
      [nodeId],
    )
  ).rows.map((row) => row.target);

export type NewHealth = Readonly<{ health: 'ok' | 'unhealthy' | 'unknown'; alerts: readonly HealthAlert[] }>;

const BREAKER = 'is_tripped, tripped_at, reason, reset_by, reset_at, version';

export const findBreaker = async (reader: Reader): Promise<BreakerRow | undefined> =>
  (await reader.query<BreakerRow>(`select ${BREAKER} from health_breaker`)).rows[0];

/** Serializes transactions that are about to make a host unschedulable. */
export const lockBreaker = async (tx: Tx): Promise<BreakerRow | undefined> =>
  (await tx.query<BreakerRow>(`select ${BREAKER} from health_breaker for update`)).rows[0];

export const tripBreaker = async (tx: Tx, reason: string): Promise<void> => {
  await tx.query(
    `update health_breaker set is_tripped = true, tripped_at = clock_timestamp(), reason = $1, version = version + 1 where not is_tripped`,
    [reason],
  );
};

export const resetBreaker = async (tx: Tx, version: number, by: string): Promise<BreakerRow | undefined> =>
  (
    await tx.query<BreakerRow>(
      `update health_breaker set is_tripped = false, reset_by = $2, reset_at = clock_timestamp(), version = version + 1
       where version = $1 returning ${BREAKER}`,
      [version, by],
    )
  ).rows[0];

/** Hosts that alerts made unschedulable recently, since the last reset of the breaker; and the number of hosts. */
export const countNewlyUnhealthy = async (
  reader: Reader,
  windowMin: number,
): Promise<Readonly<{ fallen: number; nodes: number }>> =>
  (
    await reader.query<{ fallen: number; nodes: number }>(
      `select (select count(*) from nodes where fell_ill_at > greatest(clock_timestamp() - make_interval(mins => $1),
           coalesce((select reset_at from health_breaker), '-infinity'))) as fallen,
         (select count(*) from nodes where not state ${NODE_OVER} and host_role = 'worker_compute') as nodes`,
      [windowMin],
    )
  ).rows[0] ?? { fallen: 0, nodes: 0 };
