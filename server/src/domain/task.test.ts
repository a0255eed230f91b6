import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANDED_OUT_TASK_STATES, isTaskOpen, OPEN_TASK_STATES } from './task.ts';

test('a task is open until it ended, and whatever an agent may hold is open', () => {
  for (const state of [...OPEN_TASK_STATES, ...HANDED_OUT_TASK_STATES]) assert.ok(isTaskOpen(state), state);
  for (const state of ['completed', 'failed', 'expired', 'cancelled']) assert.ok(!isTaskOpen(state), state);
});
