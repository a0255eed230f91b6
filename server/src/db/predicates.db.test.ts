/**
 * Every shared fragment compared with its function in TypeScript. Rows are generated and passed to PostgreSQL as
 * values, so that no constraint excludes a case. Each rule counts how often it was true and false: a rule that is
 * always one of them proves nothing.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ALLOCATION_STATES,
  APPROVALS,
  ENDED_ALLOCATION_STATES,
  MOVING_ALLOCATION_STATES,
  NODE_STATES,
  OCCUPANCIES,
  SLOT_PARTS as REQUIRED_PARTS,
  SLOT_STATUSES,
} from '@gpuaas/contract';
import { TASK_KINDS } from '@gpuaas/contract/task-kinds';
import { isComplete, isUsable, type SchedulerSlot, SLOTS_MAX, slotReason } from '@gpuaas/scheduler';
import fc from 'fast-check';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { isHeld, OCCUPYING_ALLOCATION_STATES, STARTING_ALLOCATION_STATES } from '../domain/allocation.ts';
import { OFFLINE_AFTER_S } from '../domain/heartbeat.ts';
import { isNodeOver, occupancyMoves } from '../domain/node-state.ts';
import { approvalMoves, slotMoves } from '../domain/slot-state.ts';
import { HANDED_OUT_TASK_STATES, isTaskOpen } from '../domain/task.ts';
import { isLive } from '../domain/workflow.ts';
import { isFit } from '../workflows/node-after-wipe.ts';
import { PLATFORM } from './client.ts';
import {
  ALLOCATION_ENDED,
  ALLOCATION_HELD,
  ALLOCATION_MOVING,
  ALLOCATION_OCCUPYING,
  ALLOCATION_STARTING,
  APPROVAL_TO_DISABLE,
  agentIsConnected,
  agentIsSeen,
  claimHoldsSlot,
  claimIsLive,
  NODE_OVER,
  NODE_TO_CLEAN,
  RUN_LIVE,
  runtimeIsValidated,
  SLOT_PARTS,
  SLOT_TO_CLEAN,
  SLOT_TO_QUARANTINE,
  slotIsClaimed,
  slotIsComplete,
  slotIsFit,
  slotIsUsable,
  slotUnavailableReason,
  TASK_HANDED_OUT,
  TASK_OPEN,
  taskKindIn,
} from './predicates.ts';

const ROWS = 200;
const RUNS = 6;
/** Of ROWS * RUNS rows, the minimum number of each kind. */
const SEEN_MIN = 30;

const orNull = <T>(value: T): fc.Arbitrary<T | null> => fc.option(fc.constant(value), { nil: null, freq: 9 });

const slotRow = fc.record({
  id: fc.constantFrom('slt_1', 'slt_2', 'slt_3'),
  node_id: fc.constantFrom('nod_1', 'nod_2'),
  slot_index: fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 7 }) }, { weight: 1, arbitrary: fc.nat({ max: 63 }) }),
  parent_slot_id: fc.constantFrom(...Array<string | null>(9).fill(null), 'slt_9'),
  approval: fc.constantFrom('approved', 'approved', 'approved', 'disabled', 'needs_reapproval'),
  status: fc.constantFrom('available', 'available', 'reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined'),
  health: fc.constantFrom('ok', 'ok', 'ok', 'unhealthy', 'unknown'),
  gpu_pci_address: orNull('0000:17:00.0'),
  nvme_serial: orNull('S64'),
  nvme_device: orNull('/dev/disk/by-id/nvme-S64'),
  mac_address: orNull('02:00:00:00:00:01'),
  private_ip: orNull('10.0.0.2'),
  fabric_vf_pci_address: orNull('0000:40:00.2'),
  fabric_claim_mode: fc.constantFrom(...Array<string | null>(9).fill('per_slot_vf'), 'shared', null),
});
type SlotRow = typeof slotRow extends fc.Arbitrary<infer T> ? T : never;

const SLOT_RECORD = `(id text, node_id text, slot_index integer, parent_slot_id text, approval text, status text, health text,
  gpu_pci_address text, nvme_serial text, nvme_device text, mac_address macaddr, private_ip inet, fabric_vf_pci_address text,
  fabric_claim_mode text)`;

/** The slot as the scheduler receives it, with its parent. */
const toSlot = (row: SlotRow): SchedulerSlot =>
  ({
    ...row,
    module_id: null,
    numa_node: null,
    has_gpu: row.gpu_pci_address !== null,
    has_nvme: row.nvme_serial !== null && row.nvme_device !== null,
    has_mac: row.mac_address !== null,
    has_private_ip: row.private_ip !== null,
    has_fabric_vf: row.fabric_vf_pci_address !== null,
  }) as unknown as SchedulerSlot;

const claimRow = fc.record({
  node_id: fc.constantFrom('nod_1', 'nod_2', 'nod_3'),
  slot_id: fc.constantFrom('slt_1', 'slt_2', null),
  released_at: fc.constantFrom(null, '2026-01-01T00:00:00Z'),
});

describe('a shared SQL predicate', () => {
  let database: TestDatabase;
  before(async () => {
    database = await testDatabase();
  });
  after(() => database.drop());

  const ask = async <R extends object>(text: string, ...values: unknown[]): Promise<R[]> =>
    database.database.read(PLATFORM, async (reader) => (await reader.query<R>(text, values)).rows);

  /** Compares PostgreSQL's result for each row with the function's, and counts the values. */
  const holds = async <Row, Value>(
    row: fc.Arbitrary<Row>,
    fragment: string,
    record: string,
    expected: (row: Row) => Value,
    values: readonly Value[],
  ): Promise<void> => {
    const seen = new Map<Value, number>(values.map((value) => [value, 0]));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: ROWS, maxLength: ROWS }), async (rows) => {
        const found = await ask<{ value: Value }>(
          `select ${fragment} as value from jsonb_array_elements($1::jsonb) with ordinality e (row, place)
           cross join lateral jsonb_to_record(e.row) as s ${record} order by e.place`,
          JSON.stringify(rows),
        );
        const wanted = rows.map(expected);
        assert.deepEqual(
          found.map(({ value }) => value),
          wanted,
        );
        for (const value of wanted) seen.set(value, (seen.get(value) ?? 0) + 1);
      }),
      { numRuns: RUNS },
    );
    for (const [value, count] of seen) assert.ok(count >= SEEN_MIN, `${String(value)} was seen ${count} times only`);
  };
  const BOTH = [true, false];

  it('reports a slot as complete exactly when the scheduler does', () =>
    holds(slotRow, slotIsComplete('s'), SLOT_RECORD, (row) => isComplete(toSlot(row)), BOTH));

  it('reports a slot as usable exactly when the scheduler does', () =>
    holds(slotRow, slotIsUsable('s'), SLOT_RECORD, (row) => isUsable(toSlot(row)), BOTH));

  it('reports a wiped slot as fit exactly when the release does', () =>
    holds(slotRow, slotIsFit('s'), SLOT_RECORD, (row) => isFit(toSlot(row)), BOTH));

  it('gives the same unavailable reason for a slot as the scheduler', () =>
    holds(slotRow, slotUnavailableReason('s'), SLOT_RECORD, (row) => slotReason(toSlot(row), true), [
      'claimed',
      'cleaning',
      'cleanup_blocked',
      'quarantined',
      'unapproved',
      'hardware_changed',
      'unhealthy',
      'incomplete',
      null,
    ]));

  it('reads the parts of a bundle that the contract lists as required', () => {
    assert.deepEqual(
      Object.keys(SLOT_PARTS).map((field) => field.replace(/^has_/, '')),
      [...REQUIRED_PARTS],
    );
  });

  it('reads each part of a bundle as the scheduler receives it', async () => {
    for (const [part, has] of Object.entries(SLOT_PARTS))
      await holds(slotRow, has('s'), SLOT_RECORD, (row) => toSlot(row)[part as keyof typeof SLOT_PARTS], BOTH);
  });

  it('requires at least what the schema requires of an available slot', async () => {
    const [check] = await ask<{ rule: string }>(
      `select pg_get_constraintdef(oid) as rule from pg_constraint where conname = 'available_is_complete'`,
    );
    const rule = /^CHECK \((.*)\)$/s.exec(check?.rule ?? '')?.[1];
    assert.ok(rule, 'the schema has the constraint');
    const isWhole = (row: SlotRow) => row.parent_slot_id === null && row.slot_index < SLOTS_MAX;
    // The schema lets a fraction of a GPU be available; the scheduler places whole ones only.
    const whole = slotRow.filter(isWhole);
    await holds(
      whole,
      `coalesce(${rule}, false)`,
      SLOT_RECORD,
      (row) => row.status !== 'available' || isComplete(toSlot(row)),
      BOTH,
    );
  });

  it('reports a task as open or dispatched exactly when the domain does', async () => {
    const row = fc.record({
      state: fc.constantFrom(
        'queued',
        'dispatched',
        'running',
        'completed',
        'failed',
        'expired',
        'unknown',
        'cancelled',
      ),
    });
    await holds(row, `s.state ${TASK_OPEN}`, '(state text)', ({ state }) => isTaskOpen(state), BOTH);
    const handedOut: readonly string[] = HANDED_OUT_TASK_STATES;
    await holds(row, `s.state ${TASK_HANDED_OUT}`, '(state text)', ({ state }) => handedOut.includes(state), BOTH);
  });

  it('reports a run as live exactly when the domain does', () =>
    holds(
      fc.record({ state: fc.constantFrom('pending', 'running', 'waiting', 'done', 'stuck', 'cancelled') }),
      `s.state ${RUN_LIVE}`,
      '(state text)',
      ({ state }) => isLive(state as Parameters<typeof isLive>[0]),
      BOTH,
    ));

  it('reports an allocation in each set of its states exactly when the domain does', async () => {
    const row = fc.record({ state: fc.constantFrom(...ALLOCATION_STATES) });
    await holds(row, `s.state ${ALLOCATION_HELD}`, '(state text)', ({ state }) => isHeld(state), BOTH);
    const moving: readonly string[] = MOVING_ALLOCATION_STATES;
    await holds(row, `s.state ${ALLOCATION_MOVING}`, '(state text)', ({ state }) => moving.includes(state), BOTH);
    for (const [fragment, states] of [
      [ALLOCATION_STARTING, STARTING_ALLOCATION_STATES],
      [ALLOCATION_OCCUPYING, OCCUPYING_ALLOCATION_STATES],
      [ALLOCATION_ENDED, ENDED_ALLOCATION_STATES],
    ] as const)
      await holds(row, `s.state ${fragment}`, '(state text)', ({ state }) => states.some((one) => one === state), BOTH);
  });

  it('reports a node as ended exactly when the domain does', () =>
    holds(
      fc.record({ state: fc.constantFrom(...NODE_STATES) }),
      `s.state ${NODE_OVER}`,
      '(state text)',
      ({ state }) => isNodeOver(state),
      BOTH,
    ));

  it('changes a slot, its approval and a node only along their declared moves', async () => {
    const within = (moves: Readonly<Record<string, readonly string[]>>, to: string) => (row: { state: string }) =>
      moves[row.state]?.includes(to) ?? false;
    const canQuarantine = within(slotMoves, 'quarantined');
    const approval = fc.record({ state: fc.constantFrom(...APPROVALS) });
    const status = fc.record({ state: fc.constantFrom(...SLOT_STATUSES) });
    const occupancy = fc.record({ state: fc.constantFrom(...OCCUPANCIES) });
    const isIn = (fragment: string) => `s.state ${fragment}`;
    await holds(approval, isIn(APPROVAL_TO_DISABLE), '(state text)', within(approvalMoves, 'disabled'), BOTH);
    await holds(status, isIn(SLOT_TO_CLEAN), '(state text)', within(slotMoves, 'cleaning'), BOTH);
    // What is quarantined already may be set apart again.
    await holds(
      status,
      isIn(SLOT_TO_QUARANTINE),
      '(state text)',
      (row) => row.state === 'quarantined' || canQuarantine(row),
      BOTH,
    );
    // A free node has no allocation that could be cleaned up.
    await holds(
      occupancy,
      isIn(NODE_TO_CLEAN),
      '(state text)',
      (row) => row.state !== 'free' && within(occupancyMoves, 'cleaning')(row),
      BOTH,
    );
  });

  it('knows the kinds of host tasks that it is given', () =>
    holds(
      fc.record({ kind: fc.constantFrom(...TASK_KINDS) }),
      `s.kind ${taskKindIn('image.pull', 'slice.vm_start')}`,
      '(kind text)',
      ({ kind }) => kind === 'image.pull' || kind === 'slice.vm_start',
      BOTH,
    ));

  it('counts an agent as connected for as long as the domain does', async () => {
    // Seconds ago, never within the time that a query may take of the limit.
    const ago = fc.oneof(fc.nat({ max: OFFLINE_AFTER_S - 15 }), fc.integer({ min: OFFLINE_AFTER_S, max: 300 }));
    const seenAt = `from (select s.ago, clock_timestamp() - make_interval(secs => s.ago) as last_seen_at) a`;
    await holds(
      fc.record({ ago }),
      `(select ${agentIsSeen('a')} ${seenAt})`,
      '(ago float8)',
      (row) => row.ago < OFFLINE_AFTER_S,
      BOTH,
    );
    await holds(
      fc.record({ ago: fc.option(ago, { nil: null }) }),
      `(select ${agentIsConnected('a')} ${seenAt})`,
      '(ago float8)',
      (row) => row.ago !== null && row.ago < OFFLINE_AFTER_S,
      BOTH,
    );
  });

  it('accepts a runtime check only if it passed after the last boot', () => {
    const time = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z', null);
    return holds(
      fc.record({ is_runtime_passed: fc.boolean(), runtime_checked_at: time, booted_at: time }),
      runtimeIsValidated('s'),
      '(is_runtime_passed boolean, runtime_checked_at timestamptz, booted_at timestamptz)',
      ({ is_runtime_passed, runtime_checked_at, booted_at }) =>
        is_runtime_passed && runtime_checked_at !== null && (booted_at === null || runtime_checked_at > booted_at),
      BOTH,
    );
  });

  it('finds a slot claimed by its own live claim or its node’s, and by no other', async () => {
    const seen = { claimed: 0, free: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(slotRow, { minLength: 20, maxLength: 20 }),
        fc.array(claimRow, { maxLength: 4 }),
        async (slots, drawn) => {
          const claims = drawn.map((claim) => ({
            ...claim,
            claim_kind: claim.slot_id === null ? 'node_exclusive' : 'slot',
          }));
          const found = await ask<{ is_claimed: boolean }>(
            `with allocation_resource_claims as (select c.* from jsonb_to_recordset($2::jsonb)
               as c (node_id text, slot_id text, claim_kind text, released_at timestamptz))
             select ${slotIsClaimed('s')} as is_claimed from jsonb_array_elements($1::jsonb) with ordinality e (row, place)
             cross join lateral jsonb_to_record(e.row) as s ${SLOT_RECORD} order by e.place`,
            JSON.stringify(slots),
            JSON.stringify(claims),
          );
          const wanted = slots.map((slot) =>
            claims.some(
              (claim) =>
                claim.released_at === null &&
                claim.node_id === slot.node_id &&
                (claim.claim_kind === 'node_exclusive' || claim.slot_id === slot.id),
            ),
          );
          assert.deepEqual(
            found.map((row) => row.is_claimed),
            wanted,
          );
          for (const isClaimed of wanted) seen[isClaimed ? 'claimed' : 'free'] += 1;
        },
      ),
      { numRuns: 60 },
    );
    assert.ok(seen.claimed >= SEEN_MIN && seen.free >= SEEN_MIN, JSON.stringify(seen));
  });

  it('lets a claim hold a slot only while it is live, and only its own slot or those of its node', async () => {
    const row = fc.record({
      claim: claimRow.map((one) => ({ ...one, claim_kind: one.slot_id === null ? 'node_exclusive' : 'slot' })),
      id: fc.constantFrom('slt_1', 'slt_2'),
      node_id: fc.constantFrom('nod_1', 'nod_2'),
    });
    const record = '(claim jsonb, id text, node_id text)';
    const of = (fragment: string): string => `(select ${fragment} from jsonb_to_record(s.claim)
      as c (node_id text, slot_id text, claim_kind text, released_at timestamptz))`;
    await holds(row, of(claimIsLive('c')), record, ({ claim }) => claim.released_at === null, BOTH);
    await holds(
      row,
      `coalesce(${of(claimHoldsSlot('c', 's'))}, false)`,
      record,
      ({ claim, id, node_id }) =>
        claim.released_at === null &&
        claim.node_id === node_id &&
        (claim.claim_kind === 'node_exclusive' || claim.slot_id === id),
      BOTH,
    );
  });
});
