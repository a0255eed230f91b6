/**
 * Offered actions work and others give a reason: nodes and slots in many states, and for each action the operation
 * itself, run and rolled back.
 */
import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { roleRefusal } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import fc from 'fast-check';
import { Client } from 'pg';
import { assertReached } from '../../../tools/test/reached.ts';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { aNode, anAllocation, type TestNode } from '../../test/placement.ts';
import type { Principal, WriteCtx } from '../context.ts';
import { PLATFORM } from '../db/client.ts';
import { listSlots } from '../db/slot.ts';
import type { NodeAction } from '../domain/node-actions.ts';
import type { SlotAction } from '../domain/slot-actions.ts';
import { AppError } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, nodeView, nodeViews } from '../views/node.ts';
import { type SlotView, slotViews } from '../views/slot.ts';
import { startRun } from '../workflows/engine/run.ts';
import { repairSlot } from '../workflows/repair-slot.ts';
import { forceCleanup } from './allocation-admin.ts';
import { probe } from './health-report.ts';
import * as node from './node.ts';
import * as nodeAgent from './node-agent.ts';
import * as nodeHost from './node-host.ts';
import * as nodeEnd from './node-retire.ts';
import * as slot from './slot.ts';
import { approve } from './slot-approve.ts';
import { discoveryCreate } from './topology.ts';

const RUNS = 40;
const OPERATOR = 'usr_00000000000000000000000000';
const BECAUSE = { reason: 'test' };
const HASH = '0'.repeat(64);

const principal = (over: Partial<Principal> = {}): Principal => ({
  kind: 'user',
  id: OPERATOR,
  name: 'Operator',
  email: null,
  email_verified: false,
  platform_role: 'superadmin',
  is_pending: false,
  tenants: new Map(),
  projects: new Map(),
  audit_organization_id: null,
  home: null,
  credential: { kind: 'oidc', id: null, scopes: ['all'], project_id: null, expires_at: null, auth_time: null },
  ...over,
});

/** The parts of a request that the services read. */
const request = (params: object, body: object = BECAUSE, if_match?: number): never =>
  ({ params, query: {}, body, if_match, last_event_id: undefined }) as never;

describe('available actions of nodes and slots', () => {
  const closers: (() => Promise<unknown>)[] = [];
  let test: TestApp;
  let sql: Client;
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const contextOf = (tx: WriteCtx['tx'], as: Principal = principal()): WriteCtx =>
    ({
      deps: test.app.deps,
      log: test.app.deps.log,
      principal: as,
      correlation_id: mintId('cor'),
      operation: 'test',
      organization_id: null,
      project_id: null,
      tx,
      emit: () => {},
      target: () => {},
      note: () => {},
      setTarget: () => {},
    }) as unknown as WriteCtx;

  /** The result of the operation, run and rolled back: null when it would have worked. */
  const outcome = async (run: (ctx: WriteCtx) => Promise<unknown>): Promise<string | null> => {
    const undone = new Error('undone');
    try {
      await test.db.database.write(PLATFORM, async (tx) => {
        await run(contextOf(tx));
        throw undone;
      });
    } catch (err) {
      if (err === undone) return null;
      // The state allows it; a request that names a missing resource is a separate error.
      if (err instanceof AppError && err.code === 'precondition_failed') return null;
      if (err instanceof AppError && err.code === 'conflict') return err.message;
      throw err;
    }
    throw new Error('the transaction must not commit');
  };

  const onNode = (node_id: string): Record<NodeAction, (ctx: WriteCtx) => Promise<unknown>> => {
    const params = { node_id };
    return {
      discover: (ctx) => discoveryCreate(ctx, request(params)),
      probe: (ctx) => probe(ctx, request(params)),
      drain: (ctx) => node.drain(ctx, request(params, { ...BECAUSE, is_draining: true })),
      resume: (ctx) => node.drain(ctx, request(params, { ...BECAUSE, is_draining: false })),
      hold: (ctx) => node.hold(ctx, request(params, { ...BECAUSE, is_held: true })),
      unhold: (ctx) => node.hold(ctx, request(params, { ...BECAUSE, is_held: false })),
      clear_launch_failures: (ctx) => node.clearLaunchFailures(ctx, request(params)),
      convert: async (ctx) => {
        const { capacity_mode } = await getNode(ctx.tx, node_id);
        const to = capacity_mode === 'baremetal' ? 'slice' : 'baremetal';
        const reading = { ...ctx, read: <T>(fn: (tx: WriteCtx['tx']) => Promise<T>) => fn(ctx.tx) };
        const { plan_hash } = await node.convertPlan(reading as never, { params, query: { to } } as never);
        return node.convert(ctx, request(params, { to, plan_hash }));
      },
      approve: (ctx) => approve(ctx, request(params, { map_hash: HASH })),
      retire: (ctx) => nodeEnd.retire(ctx, request(params)),
      delete: (ctx) => nodeEnd.remove(ctx, request(params)),
      enroll: (ctx) => nodeAgent.enrollmentCreate(ctx, request(params)),
      rebind: (ctx) => nodeHost.rebind(ctx, request(params)),
      revoke_agent: (ctx) => nodeAgent.revoke(ctx, request(params)),
    };
  };

  const onSlot = (view: SlotView): Record<SlotAction, (ctx: WriteCtx) => Promise<unknown>> => {
    const asked = request({ node_id: view.node_id, slot_id: view.id }, BECAUSE, view.version);
    return {
      disable: (ctx) => slot.disable(ctx, asked),
      enable: (ctx) => slot.enable(ctx, asked),
      quarantine: (ctx) => slot.quarantine(ctx, asked),
      repair: (ctx) => slot.repair(ctx, asked),
      mark_wiped: (ctx) => slot.markWiped(ctx, asked),
      retry_cleanup: (ctx) =>
        forceCleanup(
          ctx,
          request({ allocation_id: view.allocation_id }, { ...BECAUSE, runtime_verified_absent: false }),
        ),
    };
  };

  /** Refusals of actions that are already done, or that do not apply. */
  const IS_SO =
    /\balready\b|^The slot is being repaired\.$|^The node is not held|^No launches have failed|is running\.$|^You requested/;
  const NOT_ASKED = /^No allocation holds the slot|there is no cleanup to retry/;

  /** How many operations worked and how many refused. */
  let seen = { worked: 0, refused: 0 };
  beforeEach(() => {
    seen = { worked: 0, refused: 0 };
  });

  const agree = async (
    actions: readonly { name: string; allowed: boolean; reason: string | null }[],
    operations: Readonly<Record<string, (ctx: WriteCtx) => Promise<unknown>>>,
    what: string,
  ): Promise<void> => {
    assert.deepEqual(actions.map(({ name }) => name).toSorted(), Object.keys(operations).toSorted());
    for (const { name, allowed, reason } of actions) {
      if (reason !== null && NOT_ASKED.test(reason)) continue;
      const said = await outcome(operations[name] ?? (() => Promise.reject(new Error(name))));
      seen[said === null ? 'worked' : 'refused'] += 1;
      const isSo = reason !== null && IS_SO.test(reason) && said === null;
      assert.ok(isSo || said === reason, `${name} of ${what}: shown ${reason}, told ${said}`);
      assert.equal(allowed, reason === null);
    }
  };

  type Facts = Readonly<{
    state: string;
    mode: 'slice' | 'baremetal' | 'flexible';
    is_held: boolean;
    is_seen: boolean;
    is_discovered: boolean;
    disk: 'approved' | 'wiping' | 'blocked' | null;
    holder: 'none' | 'slice' | 'whole' | 'whole_blocked';
  }>;
  const facts: fc.Arbitrary<Facts> = fc.record({
    state: fc.constantFrom('bootstrap_issued', 'active', 'active', 'offline', 'draining', 'retired'),
    mode: fc.constantFrom('slice', 'baremetal', 'flexible'),
    is_held: fc.boolean(),
    is_seen: fc.boolean(),
    is_discovered: fc.boolean(),
    disk: fc.constantFrom(null, null, 'approved', 'wiping', 'blocked'),
    holder: fc.constantFrom('none', 'none', 'slice', 'whole', 'whole_blocked'),
  });

  const aNodeOf = async (given: Facts): Promise<TestNode> => {
    const made = await aNode(sql, { capacity_mode: 'flexible' });
    if (given.holder === 'slice') await anAllocation(sql, { node: made, state: 'active' });
    if (given.holder === 'whole') await anAllocation(sql, { node: made, shape: 'baremetal', state: 'active' });
    if (given.holder === 'whole_blocked')
      await anAllocation(sql, { node: made, shape: 'baremetal', state: 'release_failed' });
    // The mode must fit the claims on the node.
    const mode = given.holder === 'none' ? given.mode : given.holder === 'slice' ? 'slice' : 'baremetal';
    await sql.query(
      'update nodes set state = $2, capacity_mode = $3, is_held = $4, held_reason = case when $4 then $5 end where id = $1',
      [made.id, given.state, mode, given.is_held, 'kept'],
    );
    if (given.is_seen)
      await sql.query(
        `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds) values ($1, now(), '1', 'b', now(), '{}')`,
        [made.id],
      );
    if (given.is_discovered) {
      const task = mintId('tsk');
      await sql.query(
        `insert into node_tasks (id, node_id, kind, params, state, output, correlation_id, finished_at, expires_at)
         values ($1, $2, 'slice.topology_discover', '{}', 'completed', '{}', 'c', now(), now())`,
        [task, made.id],
      );
      await sql.query(
        `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required)
         values ($1, $2, repeat('1', 64), '{}', '{"partitions": [], "prerequisites": []}', false)`,
        [task, made.id],
      );
    }
    if (given.disk !== null)
      await sql.query(
        `insert into disk_ownerships (id, node_id, region_name, serial, device, state, approved_by, reason, correlation_id)
         select $1, id, region_name, $1, '/dev/disk/by-id/nvme-' || $1, $3, $4, 'test', 'c' from nodes where id = $2`,
        [mintId('dsk'), made.id, given.disk, OPERATOR],
      );
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, made.id));
    return made;
  };

  it('a node offers an action exactly when its operation works, and otherwise gives its refusal', async () => {
    await fc.assert(
      fc.asyncProperty(facts, async (given) => {
        const { id } = await aNodeOf(given);
        const { actions } = await test.db.database.read(PLATFORM, (reader) =>
          nodeView(contextOf(reader as WriteCtx['tx']), reader, id),
        );
        await agree(actions, onNode(id), JSON.stringify(given));
      }),
      { numRuns: RUNS },
    );
    assertReached(seen);
  });

  it('a slot offers an action exactly when its operation works, and otherwise gives its refusal', async () => {
    const slots = fc.record({
      state: fc.constantFrom('active', 'active', 'draining', 'retired'),
      holder: fc.constantFrom('none', 'none', 'active', 'releasing', 'release_failed', 'whole'),
      status: fc.constantFrom('available', 'cleanup_blocked', 'quarantined', 'cleaning'),
      approval: fc.constantFrom('approved', 'disabled', 'needs_reapproval', 'drifted'),
      is_repairing: fc.boolean(),
      is_vouched: fc.boolean(),
      is_ill: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(slots, async (given) => {
        const made = await aNode(sql);
        const [first = ''] = made.slot_ids;
        if (given.holder === 'whole')
          await anAllocation(sql, { node: made, shape: 'baremetal', state: 'release_failed' });
        else if (given.holder !== 'none')
          await anAllocation(sql, { node: made, state: given.holder as 'active' | 'releasing' | 'release_failed' });
        else if (given.status !== 'available') {
          await sql.query("update nodes set occupancy = 'sliced' where id = $1", [made.id]);
          await sql.query('update node_resource_slots set status = $2 where id = $1', [first, given.status]);
        }
        await sql.query(
          `update node_resource_slots set approval = $2, drift = case when $3 then '{"mac_address": {"approved": 1, "found": 2}}'::jsonb end where id = $1`,
          [first, given.approval === 'drifted' ? 'disabled' : given.approval, given.approval === 'drifted'],
        );
        if (given.is_vouched)
          await sql.query(
            `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, expires_at)
             select $1, id, 'mark_wiped', generation, 'test', $3, now() + interval '1 hour' from node_resource_slots where id = $2`,
            [mintId('ovr'), first, OPERATOR],
          );
        if (given.is_repairing)
          await test.db.database.write(PLATFORM, (tx) =>
            startRun(tx, {
              workflow: repairSlot,
              subject_id: first,
              organization_id: null,
              project_id: null,
              correlation_id: 'c',
            }),
          );
        if (given.is_ill)
          await sql.query(
            `insert into node_health_reports (node_id, source, observed_at, successes, alerts) values ($1, 'test', now(), '[]', $2)`,
            [
              made.id,
              JSON.stringify([
                {
                  id: 'ill',
                  target: 'host',
                  message: 'Ill.',
                  classifications: ['prevent_host_changes'],
                  since: new Date().toISOString(),
                },
              ]),
            ],
          );
        await sql.query('update nodes set state = $2 where id = $1', [made.id, given.state]);
        await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, made.id));
        const [view] = await test.db.database.read(PLATFORM, async (reader) =>
          slotViews(contextOf(reader as WriteCtx['tx']), reader, await getNode(reader, made.id), [
            ...(await listSlots(reader, made.id, { after: null, limit: 1 })),
          ]),
        );
        assert.ok(view !== undefined);
        await agree(view.actions, onSlot(view), JSON.stringify(given));
      }),
      { numRuns: RUNS },
    );
    assertReached(seen);
  });

  it('an action without permission for its operation is refused before any other reason', async () => {
    const made = await aNode(sql);
    const reasons = async (as: Principal) => {
      const views = await test.db.database.read(PLATFORM, async (reader) =>
        nodeViews(contextOf(reader as WriteCtx['tx'], as), reader, [await getNode(reader, made.id)]),
      );
      return Object.fromEntries((views[0]?.actions ?? []).map(({ name, reason }) => [name, reason]));
    };
    const nobody = await reasons(principal({ platform_role: null }));
    assert.equal(nobody['drain'], roleRefusal('admin.node.update'));
    assert.equal(nobody['retire'], roleRefusal('admin.node.delete'));
    const reader = await reasons(principal({ credential: { ...principal().credential, scopes: ['read'] } }));
    assert.equal(reader['drain'], 'The scopes of your token do not include admin.node.update.');
    assert.equal((await reasons(principal()))['drain'], null);
  });
});
