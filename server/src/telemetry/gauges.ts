/** Gauges from database queries, run when metrics are scraped. An unavailable database omits them. */
import type { LoopWatch } from '@gpuaas/kit';
import { countAllocationsByState } from '../db/allocation.ts';
import { countLostRows, sealLag } from '../db/audit-seal.ts';
import { archiveLag } from '../db/audit-segment.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { queryReadOnly } from '../db/health.ts';
import { countFindings, inventoryAges } from '../db/inventory.ts';
import { countFailingNodes, countOverdueNodes } from '../db/node-count.ts';
import { commitOrderDelay, outboxLag } from '../db/outbox.ts';
import { countHeldNodes } from '../db/restore.ts';
import { countOverdueSlots, countOverriddenSlots, countSlotsInCleanup } from '../db/slot.ts';
import { isCompared } from '../db/statements/restore.ts';
import { countRunsByState } from '../db/workflow-run-view.ts';
import { LAUNCH_FAILURES_MAX } from '../domain/launch-failures.ts';
import { deadlinesOf, type Waits } from '../domain/moves.ts';
import { NODE_WAITS } from '../domain/node-state.ts';
import { SLOT_WAITS } from '../domain/slot-state.ts';
import type { Telemetry } from './telemetry.ts';

/** Agents read their host every minute and report every two. */
const LATE_S = 5 * 60;

const ownerOf = (waits: Waits<string>, state: string): string => waits[state]?.owner ?? '';

export const addGauges = (
  telemetry: Telemetry,
  { database, audit_online_days }: Readonly<{ database: Database; audit_online_days: number }>,
): void => {
  const ask = <T>(question: (reader: Reader) => Promise<T>, otherwise: T): Promise<T> =>
    database.read(PLATFORM, question).catch(() => otherwise);

  telemetry.gauge('gpuaas_database_up', 'Whether the database is reachable.', [], () =>
    ask((reader) => reader.query('select 1 as one').then(() => [{ labels: {}, value: 1 }]), [{ labels: {}, value: 0 }]),
  );
  telemetry.gauge('gpuaas_database_read_only', 'Whether the database refuses writes.', [], async () => {
    const is = await ask(queryReadOnly, null);
    return is === null ? [] : [{ labels: {}, value: Number(is) }];
  });
  telemetry.gauge(
    'gpuaas_clock_held',
    'Whether work that ends something by time waits until the clock of the database is confirmed.',
    [],
    async () => {
      const is = await ask(isClockTrusted, null);
      return is === null ? [] : [{ labels: {}, value: Number(!is) }];
    },
  );
  telemetry.gauge('gpuaas_audit_seal_lag_seconds', 'Age of the oldest audit row that is not sealed.', [], async () => {
    const lag = await ask(sealLag, null);
    return lag === null ? [] : [{ labels: {}, value: lag.rows_s }];
  });
  telemetry.gauge('gpuaas_audit_heads_lag_seconds', 'Age of the oldest seal without a signed head.', [], async () => {
    const lag = await ask(sealLag, null);
    return lag === null ? [] : [{ labels: {}, value: lag.heads_s }];
  });
  telemetry.gauge(
    'gpuaas_audit_rows_lost',
    'Audit rows that signed heads outside the database cover and the database has lost, until a restore is begun.',
    [],
    async () => {
      const rows = await ask(countLostRows, null);
      return rows === null ? [] : [{ labels: {}, value: rows }];
    },
  );
  telemetry.gauge(
    'gpuaas_audit_archive_lag_seconds',
    'How long the oldest audit row in the database has been due for the archive, also where none is set.',
    [],
    async () => {
      const lag = await ask((reader) => archiveLag(reader, audit_online_days), null);
      return lag === null ? [] : [{ labels: {}, value: lag }];
    },
  );
  telemetry.gauge('gpuaas_outbox_unsent', 'Committed events not yet delivered, counted up to 10000.', [], async () => {
    const lag = await ask(outboxLag, null);
    return lag === null ? [] : [{ labels: {}, value: lag.unsent }];
  });
  telemetry.gauge(
    'gpuaas_commit_order_delay_seconds',
    'How long committed events have waited for an older transaction of this database.',
    [],
    async () => {
      const delay = await ask(commitOrderDelay, null);
      return delay === null ? [] : [{ labels: {}, value: delay }];
    },
  );
  telemetry.gauge('gpuaas_outbox_lag_seconds', 'Age of the oldest event not yet delivered.', [], async () => {
    const lag = await ask(outboxLag, null);
    return lag === null ? [] : [{ labels: {}, value: lag.oldest_age_s }];
  });
  telemetry.gauge('gpuaas_workflow_runs', 'Workflow runs by state.', ['state'], async () =>
    (await ask(countRunsByState, [])).map((row) => ({ labels: { state: row.state }, value: row.count })),
  );
  telemetry.gauge('gpuaas_workflow_run_oldest_seconds', 'Age in state of the oldest run.', ['state'], async () =>
    (await ask(countRunsByState, [])).map((row) => ({ labels: { state: row.state }, value: row.oldest_age_s })),
  );
  telemetry.gauge('gpuaas_node_findings', 'Drift findings by code.', ['code'], async () =>
    (await ask(countFindings, [])).map(({ code, count }) => ({ labels: { code }, value: count })),
  );
  telemetry.gauge(
    'gpuaas_node_inventory_oldest_seconds',
    'Age of the oldest inventory report of an active host.',
    [],
    async () => {
      const ages = await ask((reader) => inventoryAges(reader, LATE_S), null);
      return ages === null ? [] : [{ labels: {}, value: ages.oldest_s }];
    },
  );
  telemetry.gauge(
    'gpuaas_nodes_unreconciled',
    'Active hosts without an inventory report for 5 minutes.',
    [],
    async () => {
      const ages = await ask((reader) => inventoryAges(reader, LATE_S), null);
      return ages === null ? [] : [{ labels: {}, value: ages.late }];
    },
  );
  telemetry.gauge(
    'gpuaas_nodes_failing_launches',
    'Nodes on which so many launches failed in a row that placement stops.',
    [],
    async () => {
      const count = await ask((reader) => countFailingNodes(reader, LAUNCH_FAILURES_MAX), null);
      return count === null ? [] : [{ labels: {}, value: count }];
    },
  );
  telemetry.gauge(
    'gpuaas_nodes_restore_held',
    'Nodes whose destructive tasks are held since the database was restored.',
    [],
    async () => {
      const count = await ask(countHeldNodes, null);
      return count === null ? [] : [{ labels: {}, value: count }];
    },
  );
  telemetry.gauge(
    'gpuaas_heads_uncompared',
    'Whether tasks that destroy data wait until a worker has compared the database with the signed heads of its audit log.',
    [],
    async () => {
      const is = await ask(isCompared, null);
      return is === null ? [] : [{ labels: {}, value: Number(!is) }];
    },
  );
  telemetry.gauge('gpuaas_allocations', 'Allocations by state, except released.', ['state'], async () =>
    (await ask(countAllocationsByState, [])).map((row) => ({ labels: { state: row.state }, value: row.count })),
  );
  telemetry.gauge('gpuaas_slots_in_cleanup', 'Slots waiting for a wipe proof.', ['status'], async () =>
    (await ask(countSlotsInCleanup, [])).map((row) => ({ labels: { status: row.status }, value: row.count })),
  );
  telemetry.gauge(
    'gpuaas_slots_in_cleanup_oldest_seconds',
    'Age of the oldest slot waiting for a wipe proof.',
    ['status'],
    async () =>
      (await ask(countSlotsInCleanup, [])).map((row) => ({ labels: { status: row.status }, value: row.oldest_age_s })),
  );
  telemetry.gauge(
    'gpuaas_slots_overridden',
    'Slots whose last wipe two operators accepted without proof.',
    ['region', 'status'],
    async () =>
      (await ask(countOverriddenSlots, [])).map(({ region_name, status, count }) => ({
        labels: { region: region_name, status },
        value: count,
      })),
  );
  telemetry.gauge(
    'gpuaas_nodes_overdue',
    'Nodes past the deadline of their state, by who ends it.',
    ['state', 'owner'],
    async () =>
      (await ask((reader) => countOverdueNodes(reader, deadlinesOf(NODE_WAITS)), [])).map(({ state, count }) => ({
        labels: { state, owner: ownerOf(NODE_WAITS, state) },
        value: count,
      })),
  );
  telemetry.gauge(
    'gpuaas_slots_overdue',
    'Slots in service past the deadline of their status, by who ends it.',
    ['status', 'owner'],
    async () =>
      (await ask((reader) => countOverdueSlots(reader, deadlinesOf(SLOT_WAITS)), [])).map(({ status, count }) => ({
        labels: { status, owner: ownerOf(SLOT_WAITS, status) },
        value: count,
      })),
  );
  telemetry.gauge('gpuaas_allocations_overdue', 'Allocations past the deadline of their state.', ['state'], async () =>
    (await ask(countAllocationsByState, [])).map((row) => ({ labels: { state: row.state }, value: row.overdue })),
  );
};

/** From the reconciler's last check, not a query at every scrape: the queries read whole tables. */
export const addInvariantGauge = (
  telemetry: Telemetry,
  watch: Readonly<{ counts(): ReadonlyMap<string, number>; ages(): ReadonlyMap<string, number> }>,
): void => {
  const perInvariant = (values: ReadonlyMap<string, number>) =>
    [...values].map(([invariant, value]) => ({ labels: { invariant }, value }));
  telemetry.gauge('gpuaas_invariant_violations', 'Rows that violate an invariant.', ['invariant'], async () =>
    perInvariant(watch.counts()),
  );
  telemetry.gauge(
    'gpuaas_invariant_age_seconds',
    'Time since the last check of an invariant.',
    ['invariant'],
    async () => perInvariant(watch.ages()),
  );
};

export const addLoopGauge = (telemetry: Telemetry, loops: LoopWatch): void => {
  telemetry.gauge(
    'gpuaas_loop_overdue_seconds',
    'Time without a sign of life of a loop, beyond its own pause between turns.',
    ['loop'],
    async () => loops.ages().map(({ loop, overdue_ms }) => ({ labels: { loop }, value: overdue_ms / 1_000 })),
  );
};
