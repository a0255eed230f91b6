import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOCATION_STATES } from '@gpuaas/contract';
import { FIELD_MESSAGES, POLICIES, REFUSALS } from './sentences.ts';

test('a retired image is registered again, all else is created again', () => {
  assert.match(REFUSALS.catalog_retired('image', 'x'), /Register it again/);
  assert.match(REFUSALS.catalog_retired('pool', 'x'), /Create it again/);
});

/** Arguments of those that take other values than names. */
const ARGUMENTS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  no_certificate: ALLOCATION_STATES.map((state) => [state]),
  methods_of_path: [[['GET', 'POST']]],
  changed: [[2]],
  too_few_free_nodes: [[1, 2]],
  no_candidate: [[[0, 1]]],
  rotation_running: [[1]],
  no_newer_key: [['platform', 2]],
  key_not_everywhere: [[2, ['gpuaas-api']]],
  sign_up_closed: [[null]],
  sign_up_invited: [
    [null, 'x'],
    ['ada@example.com', 'x'],
  ],
  sign_up_domain: [
    [null, 'x'],
    ['ada@example.com', 'x'],
  ],
  sign_up_before_superadmin: [[null], ['ada@example.com']],
  disk_of_slot: [[3]],
  quota_request_needless: [[null], [4]],
  pool_has_nodes: [
    ['shared', 1],
    ['shared', 2],
  ],
  node_serves_others: [['shared', ['train']]],
  run_without_step: [['provision-slice', 'dance', ['bootVm']]],
  site_blocked: [[['Pool train has nodes.']]],
  site_file_problems: [[1], [2]],
  group_members: [[1], [2]],
  group_sync_warnings: [[['The export is 5 h old.']]],
  quota_request_reached: [
    [null, 4],
    [8, 4],
  ],
};

const textsOf = (sentences: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(sentences).flatMap(([name, sentence]) =>
    typeof sentence === 'function'
      ? (ARGUMENTS[name] ?? [['train', 'train']]).map((values) => String(sentence(...values)))
      : [String(sentence)],
  );

test('every refusal is a sentence that names its subject', () => {
  for (const text of textsOf(REFUSALS)) assert.match(text, /^(?:[A-Z]|disabled_reason|train|provision|\d).*\.$/s);
  for (const text of [...textsOf(REFUSALS), ...textsOf(FIELD_MESSAGES), ...textsOf(POLICIES)])
    assert.doesNotMatch(text, /undefined|null|\[object/);
});

test('one of something is named in the singular', () => {
  assert.match(REFUSALS.pool_has_nodes('shared', 1), /has 1 node\./);
  assert.match(REFUSALS.pool_has_nodes('shared', 2), /has 2 nodes\./);
});
