/**
 * Every statement that changes the state of a node or a slot, from every state: it makes a declared move, or none; and
 * every declared move is made by one of them. `server/test/declared-moves.ts` refuses other moves in every test.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { APPROVALS, NODE_STATES, SLOT_STATUSES } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { candidate } from '../../test/candidate.ts';
import { testDatabase } from '../../test/database.ts';
import { GRAPHS, movesIn } from '../../test/declared-moves.ts';
import { aNode, anAllocation, REGION, type TestAllocation, type TestNode } from '../../test/placement.ts';
import { prove, stayOn } from '../../test/proven-cleanup.ts';
import { sourcesIn } from '../domain/moves.ts';
import { nodeMoves } from '../domain/node-state.ts';
import { refreshSummary } from '../placement/summary.ts';
import { activateAllocation, blockCleanup, resumeCleanup } from '../workflows/allocation-transitions.ts';
import { startRelease } from '../workflows/start-cleanup.ts';
import { type Database, PLATFORM, type Tx } from './client.ts';
import { moveNode, type NodeMove } from './node.ts';
import {
  disableSlots,
  endProofsElsewhere,
  endSlots,
  markDrift,
  quarantineAvailable,
  quarantineOverridden,
  quarantineSlot,
  reapproveSlots,
  restoreSlot,
  setApproval,
} from './slot-approval.ts';
import { statement } from './statement.ts';
import { insertBackfilledClaim } from './statements/backfill.ts';
import { OCCUPY, RESERVE_SLOTS } from './statements/claim.ts';

/** The files with a statement that sets one of the columns. Those of a move between hosts run in `launch-move` tests. */
const WRITERS = [
  'node.ts',
  'slot-approval.ts',
  'statements/backfill.ts',
  'statements/claim.ts',
  'statements/move.ts',
  'statements/release.ts',
];

const CLAIM = statement(
  { slot_ids: 'text[]', node_id: 'text', occupancy: 'text' },
  `with ${OCCUPY} slot as (${RESERVE_SLOTS}) select from slot`,
);

type At = Readonly<{
  node_id: string;
  id: string;
  version: number;
  generation: number;
  nvme_serial: string;
  gpu_uuid: string;
  wipe_proof_id: string;
}>;
type Act = (tx: Tx, at: At) => Promise<unknown>;

const REASON = 'A test of its moves.';

const restore =
  (status: 'available' | 'quarantined'): Act =>
  (tx, at) =>
    restoreSlot(tx, at, { wipe_proof_id: at.wipe_proof_id, status, reason: null });
const claim =
  (occupancy: 'sliced' | 'exclusive'): Act =>
  (tx, at) =>
    CLAIM.query(tx, { slot_ids: [at.id], node_id: at.node_id, occupancy });

const ON_FREE_SLOTS: Readonly<Record<string, Act>> = {
  quarantine: (tx, at) => quarantineSlot(tx, { ...at, reason: REASON, quarantine_reason: null }),
  enable: (tx, at) => setApproval(tx, { ...at, approval: 'approved', reason: REASON }),
  disable: (tx, at) => setApproval(tx, { ...at, approval: 'disabled', reason: REASON }),
  retire: (tx, at) => disableSlots(tx, at.node_id, REASON),
  rebind: (tx, at) => endSlots(tx, at.node_id, REASON),
  'find ill': (tx, at) => quarantineAvailable(tx, [{ slot_id: at.id, reason: REASON }]),
  'end overrides': (tx) => quarantineOverridden(tx, REGION, REASON),
  'find its disk elsewhere': (tx, at) =>
    endProofsElsewhere(tx, [{ id: null, nvme_serial: at.nvme_serial, gpu_uuid: null }]),
  'find a difference': (tx, at) => markDrift(tx, [{ id: at.id, drift: { mac_address: { approved: 1, found: 2 } } }]),
  'approve another GPU': (tx, at) => {
    const content = candidate(0, { gpu_uuid: 'GPU-other', nvme_serial: at.nvme_serial, module_id: 1 });
    const by = { node: { id: at.node_id, region_name: REGION }, approved_by: 'usr_x', discovery_task_id: 'tsk_x' };
    return reapproveSlots(tx, by, [{ ...content, id: at.id, content_hash: 'a'.repeat(64), content } as never]);
  },
  'prove a repair': restore('available'),
  'accept an override': restore('quarantined'),
  'claim it': claim('sliced'),
  'claim its node': claim('exclusive'),
};

type Held = (database: Database, made: TestAllocation) => Promise<unknown>;
const write =
  (act: (tx: Tx, made: TestAllocation) => Promise<unknown>): Held =>
  (database, made) =>
    database.write(PLATFORM, (tx) => act(tx, made));

const ON_HELD_SLOTS: Readonly<Record<string, Held>> = {
  activate: write((tx, { id }) => activateAllocation(tx, id)),
  release: write((tx, { id }) => startRelease(tx, { allocation_id: id, reason: REASON })),
  'block its cleanup': write((tx, made) => blockCleanup(tx, stayOn(made), REASON)),
  'resume its cleanup': write((tx, made) => resumeCleanup(tx, stayOn(made))),
  'prove its cleanup': prove,
  'find a missing claim': write(async (tx, made) => {
    await insertBackfilledClaim(tx, { allocation_id: made.id, node_id: made.node_id, claim_id: mintId('clm') });
  }),
};

const HELD_STATES = ['provisioning', 'active', 'releasing', 'release_failed', 'failed'] as const;

describe('the moves of nodes and slots', () => {
  const closers: (() => Promise<void>)[] = [];
  let database: Database;
  let sql: Client;
  before(async () => {
    const made = await testDatabase({ after: (fn) => void closers.unshift(fn) });
    database = made.database;
    sql = new Client({ connectionString: made.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
    await sql.query(
      "create table moved (what text not null); grant insert on moved to public; create function note_move() returns trigger language plpgsql as $$ begin insert into moved values (tg_argv[0] || ' ' || (to_jsonb(old) ->> tg_argv[0]) || ' -> ' || (to_jsonb(new) ->> tg_argv[0])); return null; end $$",
    );
    for (const { table, column } of GRAPHS)
      await sql.query(
        `create trigger note_${column} after update of ${column} on ${table} for each row
         when (old.${column} is distinct from new.${column} and current_user <> session_user) execute function note_move('${column}')`,
      );
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** Past triggers; the checks of a row still count. */
  const set = async (text: string, values: readonly unknown[]): Promise<void> => {
    await sql.query('set session_replication_role = replica');
    try {
      await sql.query(text, [...values]);
    } finally {
      await sql.query('set session_replication_role = origin');
    }
  };
  /** What a constraint or the statement itself refuses is no move. */
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
    } catch (err) {
      assert.doesNotMatch(String(err), /which is not declared/, what);
    }
  };
  const aReadyNode = async (): Promise<TestNode> => {
    const node = await aNode(sql);
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return node;
  };
  const AT =
    'select id, node_id, version, generation, nvme_serial, gpu_uuid, wipe_proof_id from node_resource_slots where id = $1';
  const taken = async (column: string): Promise<string[]> =>
    (
      await sql.query<{ move: string }>(
        "select distinct substr(what, length($1) + 2) as move from moved where what like $1 || ' %' order by 1",
        [column],
      )
    ).rows.map(({ move }) => move);

  it('are made where this test makes them', () => {
    const folder = new URL('.', import.meta.url);
    const setsState =
      /update (?:nodes|node_resource_slots)\b(?:(?!\bwhere\b)[\s\S])*?[ ,(](?:state|occupancy|status|approval) = /;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
      .filter((name) => setsState.test(readFileSync(new URL(name, folder), 'utf8')));
    assert.deepEqual(files.toSorted(), WRITERS);
  });

  it('of a slot that nothing holds are declared, whatever an operator or a host does', async () => {
    const node = await aReadyNode();
    const slot = node.slot_ids[0] ?? '';
    const before = (await sql.query(AT, [slot])).rows[0] as At;
    for (const [what, act] of Object.entries(ON_FREE_SLOTS))
      for (const status of SLOT_STATUSES)
        for (const approval of APPROVALS) {
          await set(
            `update node_resource_slots set status = $2, approval = $3, wiped_at = clock_timestamp(), wipe_proof_id = $4, wipe_outcome = 'overridden',
               drift = case $3 when 'approved' then null else '{}'::jsonb end, quarantine_reason = null, gpu_uuid = 'GPU-own' where id = $1`,
            [slot, status, approval, before.wipe_proof_id],
          );
          await set("update nodes set occupancy = 'free' where id = $1", [node.id]);
          const at = (await sql.query(AT, [slot])).rows[0] as At;
          await attempt(`${what} of a slot that is ${status} and ${approval}`, () =>
            database.write(PLATFORM, (tx) => act(tx, at)),
          );
        }
  });

  it('of a slot and a node that an allocation holds are declared, whatever becomes of it', async () => {
    for (const [what, act] of Object.entries(ON_HELD_SLOTS))
      for (const state of HELD_STATES)
        for (const shape of ['gpu_slice', 'baremetal'] as const) {
          const node = await aReadyNode();
          const made = await anAllocation(sql, { node, shape, state });
          if (what === 'find a missing claim') {
            await set('delete from allocation_resource_claims where allocation_id = $1', [made.id]);
            await set("update nodes set occupancy = 'free' where id = $1", [node.id]);
            await set(
              "update node_resource_slots set status = 'available', wiped_at = now() + interval '1 hour' where node_id = $1",
              [node.id],
            );
          }
          await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
          await attempt(`${what} when ${state}`, () => act(database, made));
          if (what !== 'prove its cleanup') continue;
          // A slot that no wipe makes fit.
          const next = await anAllocation(sql, { node: await aReadyNode(), shape, state });
          await set(
            "update node_resource_slots set quarantine_reason = 'ill' where node_id = $1 and status <> 'available'",
            [next.node_id],
          );
          await attempt('prove the cleanup of an ill slot', () => act(database, next));
        }
  });

  it('of a node are declared: each is made, and no other is', async () => {
    const node = await aReadyNode();
    for (const from of NODE_STATES)
      for (const to of NODE_STATES) {
        await set('update nodes set state = $2 where id = $1', [node.id, from]);
        const move = { from: sourcesIn(nodeMoves, to), to } as NodeMove;
        const isMoved = await database.write(PLATFORM, (tx) => moveNode(tx, { id: node.id, reason: REASON, ...move }));
        assert.equal(isMoved, (nodeMoves[from] as readonly string[]).includes(to), `${from} -> ${to}`);
      }
  });

  for (const { table, column, moves } of GRAPHS)
    it(`are all taken: ${column} of ${table}`, async () => {
      assert.deepEqual(await taken(column), movesIn(moves).toSorted());
    });

  it('that are not declared are refused in the database of a test', async () => {
    const node = await aReadyNode();
    const slot = node.slot_ids[0];
    await assert.rejects(
      database.write(PLATFORM, (tx) =>
        tx
          .query("update node_resource_slots set status = 'cleaning' where id = $1", [slot])
          .then(() => tx.query("update node_resource_slots set status = 'reserved' where id = $1", [slot])),
      ),
      /the status of node_resource_slots moves cleaning -> reserved, which is not declared/,
    );
  });
});
