import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION_KINDS } from '@gpuaas/contract/stream';
import {
  acceptsInput,
  isRecorded,
  recordingRefusal,
  type SessionFacts,
  sessionNotice,
  sessionRefusal,
} from './session.ts';

const slice: SessionFacts = {
  name: 'train',
  capacity_shape: 'gpu_slice',
  state: 'active',
  node_id: 'nod_1',
  power_state: 'on',
};
const metal: SessionFacts = { ...slice, capacity_shape: 'baremetal', power_state: null };

const kindsOf = (facts: SessionFacts): string[] => SESSION_KINDS.filter((kind) => sessionRefusal(facts, kind) === null);

test('a slice that is running or in unknown power state accepts every session kind', () => {
  assert.deepEqual(kindsOf(slice), SESSION_KINDS);
  assert.ok(acceptsInput(slice));
  assert.deepEqual(kindsOf({ ...slice, power_state: 'unknown' }), SESSION_KINDS);
});

test('a whole node accepts every session kind except the serial console, and the refusal names the alternative', () => {
  assert.deepEqual(kindsOf(metal), ['terminal', 'ssh', 'forward']);
  assert.match(sessionRefusal(metal, 'console') ?? '', /terminal or use SSH/);
});

test('a VM that is off accepts no session, and the refusal names the command that starts it', () => {
  const off: SessionFacts = { ...slice, power_state: 'off' };
  assert.deepEqual(kindsOf(off), []);
  for (const kind of SESSION_KINDS) assert.match(sessionRefusal(off, kind) ?? '', /gpuaas allocation start train$/);
});

test('during a power change only the console opens', () => {
  for (const power_state of ['starting', 'stopping', 'rebooting', 'reinstalling'] as const) {
    const facts = { ...slice, power_state };
    assert.deepEqual(kindsOf(facts), ['console']);
    assert.match(sessionRefusal(facts, 'ssh') ?? '', new RegExp(`^The VM is ${power_state}\\.`));
  }
});

test('before activation only a slice with a node has a console, which takes no input, and nothing else opens', () => {
  for (const state of ['requested', 'provisioning'] as const) {
    const facts = { ...slice, state, power_state: null };
    assert.deepEqual(kindsOf(facts), ['console']);
    assert.equal(acceptsInput(facts), false);
    assert.deepEqual(kindsOf({ ...facts, node_id: null }), []);
    assert.deepEqual(kindsOf({ ...metal, state }), []);
    assert.match(sessionRefusal(facts, 'terminal') ?? '', /Wait until it is active/);
  }
});

test('an ended allocation accepts no session', () => {
  for (const state of ['releasing', 'release_failed', 'released', 'failed'] as const)
    for (const facts of [slice, metal]) assert.deepEqual(kindsOf({ ...facts, state }), []);
});

test('a recorded terminal announces the recording before any output', () => {
  assert.match(sessionNotice(true) ?? '', /is recorded/);
  assert.equal(sessionNotice(false), null);
});

test('only terminals can be recorded, and where recording is required nothing else opens', () => {
  const none = { records_terminals: false, requires_recording: false };
  const some = { ...none, records_terminals: true };
  const all = { ...none, requires_recording: true };
  for (const kind of SESSION_KINDS) {
    const isTerminal = kind === 'terminal';
    const judge = (organization: typeof none, project: typeof none) => {
      const policies = { organization, project };
      return [isRecorded(policies, kind), recordingRefusal(policies, kind)];
    };
    assert.deepEqual(judge(none, none), [false, null]);
    assert.deepEqual(judge(some, none), [isTerminal, null]);
    assert.deepEqual(judge(none, some), [isTerminal, null]);
    // A project adds to its organization and takes nothing away; the refusal names the level that can change it.
    for (const project of [none, some, all]) {
      const [recorded, refusal] = judge(all, project);
      assert.deepEqual([recorded, refusal === null], [isTerminal, isTerminal]);
      if (!isTerminal) assert.match(String(refusal), /policy of the organization .* admin of the organization/);
    }
    const [recorded, refusal] = judge(none, all);
    assert.deepEqual([recorded, refusal === null], [isTerminal, isTerminal]);
    if (!isTerminal) assert.match(String(refusal), /^This project forbids .*gpuaas terminal.* admin of the project/);
  }
});
