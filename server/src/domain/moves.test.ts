import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { APPROVALS, NODE_STATES, OCCUPANCIES, SLOT_STATUSES } from '@gpuaas/contract';
import { movesIn } from '../../test/declared-moves.ts';
import { deadlinesOf, type Moves, sourcesIn, type Waits } from './moves.ts';
import { NODE_WAITS, nodeDeadline, nodeMoves, occupancyMoves } from './node-state.ts';
import { approvalMoves, SLOT_WAITS, slotDeadline, slotMoves } from './slot-state.ts';

const DOCUMENT = readFileSync(new URL('../../../doc/architecture/node-and-slot-states.md', import.meta.url), 'utf8');
const SINCE = '2026-01-01T00:00:00.000Z';

const reached = (moves: Moves<string>, from: string, found = new Set([from])): Set<string> => {
  for (const next of moves[from] ?? []) if (!found.has(next)) reached(moves, next, found.add(next));
  return found;
};

test('every state of a node and a slot is reached from its first one, and none but the end of a node is a dead end', () => {
  for (const [moves, first, all] of [
    [nodeMoves, 'bootstrap_issued', NODE_STATES],
    [occupancyMoves, 'free', OCCUPANCIES],
    [slotMoves, 'quarantined', SLOT_STATUSES],
    [approvalMoves, 'approved', APPROVALS],
  ] as const) {
    const graph: Moves<string> = moves;
    assert.deepEqual([...reached(graph, first)].toSorted(), all.toSorted());
    for (const state of all)
      if (state !== 'deleted' && state !== 'retired')
        assert.ok(reached(graph, state).has(first), `${state} leads back`);
  }
  assert.deepEqual(sourcesIn(nodeMoves, 'deleted'), ['retired']);
});

test('a slot becomes available only from a state in which it is wiped', () => {
  assert.deepEqual(sourcesIn(slotMoves, 'available'), ['cleaning', 'cleanup_blocked', 'quarantined']);
  assert.ok(movesIn(slotMoves).every((move) => !/^(?:reserved|in_use) -> available$/.test(move)));
});

test('every state of a node and a slot that must be left has an owner and a deadline; in the others it may stay', () => {
  const mayStay = (waits: Waits<string>) => Object.keys(waits).filter((state) => waits[state] === null);
  assert.deepEqual(mayStay(NODE_WAITS), ['active', 'retired', 'deleted']);
  assert.deepEqual(mayStay(SLOT_WAITS), ['available', 'in_use']);
  for (const waits of [NODE_WAITS, SLOT_WAITS])
    for (const seconds of Object.values(deadlinesOf(waits))) assert.ok(seconds > 0);
});

test('the deadline of a state counts from its beginning, and a disabled slot has none', () => {
  assert.equal(nodeDeadline({ state: 'enrolling', state_since: SINCE }), '2026-01-01T00:15:00.000Z');
  assert.equal(nodeDeadline({ state: 'active', state_since: SINCE }), null);
  const slot = { status: 'cleaning', approval: 'approved', status_since: SINCE } as const;
  assert.equal(slotDeadline(slot), '2026-01-01T01:00:00.000Z');
  assert.equal(slotDeadline({ ...slot, status: 'in_use' }), null);
  assert.equal(slotDeadline({ ...slot, approval: 'disabled' }), null);
});

test('the tables in doc/architecture/node-and-slot-states.md equal those in the code', () => {
  const row = (state: string, next: readonly string[], wait: Waits<string>[string] | undefined): string => {
    const cells = [state, next.join(', ') || '–'];
    const hours = wait ? String(Math.round((wait.deadline_s / 3_600) * 100) / 100) : '–';
    return `| ${[...cells, wait?.owner ?? '–', hours, wait?.until ?? '–'].join(' | ')} |`;
  };
  const rows = (moves: Moves<string>, waits: Waits<string>) =>
    Object.entries(moves).map(([state, next]) => row(state, next, waits[state]));
  const written = DOCUMENT.split('\n').filter((line) => /^\| [a-z_]+ \| /.test(line));
  assert.deepEqual(written, [...rows(nodeMoves, NODE_WAITS), ...rows(slotMoves, SLOT_WAITS)]);
});
