import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeAnswer, judgeRefusal } from './answer.ts';

const STOP = { do: 'power', who: 0, pick: 0, to: 'stop' } as const;
const answer = (power: string) => ({ id: 'alc_a', state: 'active', power: { state: power, is_charged: true } });

test('a response must be about its target and show what was requested', () => {
  assert.equal(judgeAnswer(STOP, 'alc_a', answer('stopping')), null);
  assert.match(judgeAnswer(STOP, 'alc_a', answer('on')) ?? '', /says something else/);
  assert.match(judgeAnswer(STOP, 'alc_b', answer('stopping')) ?? '', /about another/);
  const limit = { do: 'quota', who: 0, limit: 2 } as const;
  assert.equal(judgeAnswer(limit, null, { gpu_limit: 2 }), null);
  assert.match(judgeAnswer(limit, null, { gpu_limit: 6 }) ?? '', /says something else/);
  const quarantine = { do: 'slot', node: 0, slot: 0, to: 'quarantine' } as const;
  assert.match(judgeAnswer(quarantine, null, { status: 'available' }) ?? '', /says something else/);
});

test('an allocation inside the response of an operator is its target', () => {
  const release = { do: 'force_release', pick: 0 } as const;
  assert.equal(judgeAnswer(release, 'alc_a', { allocation: { id: 'alc_a', state: 'releasing' } }), null);
  assert.match(
    judgeAnswer(release, 'alc_a', { allocation: { id: 'alc_b', state: 'releasing' } }) ?? '',
    /about another/,
  );
});

test('a refusal has a code and a sentence', () => {
  assert.equal(judgeRefusal(STOP, 409, { code: 'conflict', detail: 'The VM is off. Start it instead.' }), null);
  assert.match(judgeRefusal(STOP, 409, { code: 'conflict', detail: '' }) ?? '', /no reason/);
});

test('an approval, a new project and a resumed cleanup are judged by their content', () => {
  const approve = { do: 'approve', node: 0 } as const;
  assert.equal(judgeAnswer(approve, null, { slots: [{ approval: 'approved' }] }), null);
  assert.match(judgeAnswer(approve, null, { slots: [{ approval: 'disabled' }] }) ?? '', /says something else/);
  const create = { do: 'project_create', who: 0 } as const;
  assert.equal(judgeAnswer(create, null, { id: 'prj_a', name: 'project-7' }), null);
  assert.match(judgeAnswer(create, null, { id: 'prj_a', name: 'default' }) ?? '', /says something else/);
  const cleanup = { do: 'force_cleanup', pick: 0, absent: false } as const;
  assert.equal(judgeAnswer(cleanup, 'alc_a', { allocation: { id: 'alc_a', state: 'releasing' } }), null);
  assert.match(judgeAnswer(cleanup, 'alc_a', { id: 'alc_a', state: 'active' }) ?? '', /says something else/);
  const on = (...nodes: readonly string[]) => ({
    allocation: { id: 'alc_a', state: 'provisioning' },
    node_id: 'nod_a',
    claims: nodes.map((node_id) => ({ node_id, released_at: null })),
  });
  assert.equal(judgeAnswer(cleanup, 'alc_a', on('nod_a', 'nod_b')), null, 'of the host that a launch left');
  assert.match(judgeAnswer(cleanup, 'alc_a', on('nod_a')) ?? '', /says something else/);
});
