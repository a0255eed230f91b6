import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Allocation } from '@gpuaas/sdk';
import { attentionOf, attentionRows } from './attention.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

const allocation = (rest: Partial<Allocation>): Allocation =>
  ({
    id: 'alc_1',
    name: 'train',
    state: 'active',
    state_reason: null,
    state_since: at(-60),
    state_deadline_at: null,
    power: null,
    is_protected: false,
    release_at: null,
    activated_at: at(-60),
    cost_so_far: { amount_minor: 450, currency: 'USD' },
    ...rest,
  }) as Allocation;

const power = (
  state: NonNullable<Allocation['power']>['state'],
  reason: string | null = null,
): Allocation['power'] => ({
  state,
  reason,
  since: at(-5),
  workflow_run_id: null,
  is_charged: true,
  install_number: 0,
});

const kinds = (rest: Partial<Allocation>): string[] => attentionOf(allocation(rest), NOW).map(({ kind }) => kind);

test('allocations in a normal state need no attention', () => {
  assert.deepEqual(kinds({ power: power('on') }), []);
  assert.deepEqual(kinds({ release_at: at(120) }), []);
  assert.deepEqual(kinds({ state: 'provisioning', state_deadline_at: at(10) }), []);
  assert.deepEqual(kinds({ state: 'released' }), []);
});

test('a VM that is off is shown as billed', () => {
  const [one] = attentionOf(allocation({ power: power('off') }), NOW);
  assert.match(one?.sentence ?? '', /still charged: the GPUs stay reserved/);
  assert.deepEqual(kinds({ power: power('unknown', 'The host did not respond.') }), ['power']);
});

test('a failure shows whether it cost anything, and is listed for three days', () => {
  const [unpaid] = attentionOf(allocation({ state: 'failed', state_reason: 'No host.', activated_at: null }), NOW);
  assert.equal(unpaid?.sentence, 'Failed 1 h ago: No host. No charges.');
  const [paid] = attentionOf(allocation({ state: 'failed' }), NOW);
  assert.match(paid?.sentence ?? '', /Charged: \$4\.50/);
  assert.deepEqual(kinds({ state: 'failed', state_since: at(-73 * 60) }), []);
});

test('blocked and overdue allocations are shown as such', () => {
  assert.deepEqual(kinds({ state: 'release_failed', state_reason: 'The disk does not respond' }), ['blocked']);
  assert.deepEqual(kinds({ state: 'releasing', state_deadline_at: at(-3) }), ['late']);
  assert.deepEqual(kinds({ state: 'requested', state_deadline_at: at(-3) }), ['late']);
  assert.deepEqual(kinds({ state: 'active', state_deadline_at: at(-3) }), []);
});

test('the end of a maximum duration is announced one hour before, or that protection prevents it', () => {
  const [soon] = attentionOf(allocation({ release_at: at(30) }), NOW);
  assert.match(soon?.sentence ?? '', /^Released automatically in 30 min/);
  assert.match(attentionOf(allocation({ release_at: at(-1) }), NOW)[0]?.sentence ?? '', /maximum duration has passed/);
  assert.deepEqual(kinds({ release_at: at(30), is_protected: true }), []);
  assert.deepEqual(kinds({ release_at: at(-1), is_protected: true }), ['overdue']);
});

test('the most severe item comes first', () => {
  const rows = attentionRows([allocation({ power: power('off') }), allocation({ state: 'release_failed' })], NOW);
  assert.deepEqual(
    rows.map(({ attention }) => attention.kind),
    ['blocked', 'off'],
  );
});
