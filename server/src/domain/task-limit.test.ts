import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLEANUP_LIMIT_S, TASK_KINDS, TASKS } from '@gpuaas/contract/node';
import {
  BEGUN_EXPIRES_S,
  CLEANUP_RUN_DEADLINE_MS,
  CLEANUP_TRIES_MAX,
  TASK_EXPIRES_S,
  taskExpiresS,
} from './task-limit.ts';

test('the server waits longer for a cleanup than the agent works on it, and its run waits for every attempt', () => {
  for (const kind of ['slice.cleanup', 'node.cleanup']) {
    const begun = BEGUN_EXPIRES_S[kind] ?? 0;
    assert.ok(begun > CLEANUP_LIMIT_S, kind);
    const tries = CLEANUP_TRIES_MAX * (TASK_EXPIRES_S + begun);
    assert.ok(CLEANUP_RUN_DEADLINE_MS > 1_000 * (CLEANUP_TRIES_MAX * TASK_EXPIRES_S + tries), kind);
  }
});

test('a task expires as its kind declares, and one of an unknown kind after the default time', () => {
  for (const kind of TASK_KINDS) assert.equal(taskExpiresS(kind), TASKS[kind].expires_s, kind);
  assert.equal(taskExpiresS('slice.unknown'), TASK_EXPIRES_S);
});
