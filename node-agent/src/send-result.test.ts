import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskResult } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { ControlPlaneError, failureOf, retryMs } from './control-plane/errors.ts';
import type { TaskApi } from './control-plane/task-api.ts';
import { sendResult } from './send-result.ts';

const result: TaskResult = {
  attempt: 2,
  state: 'completed',
  error_code: null,
  reason: null,
  output: { text: 'a\0b' },
  started_at: '0000-01-01T00:00:00Z',
  finished_at: '0000-01-01T00:00:00Z',
};
const task = { task_id: 'tsk_x', attempt: 2, correlation_id: 'c-1' };

/** A control plane that returns these responses in order, and then accepts everything. */
const tell = async (answers: readonly number[]) => {
  const left = [...answers];
  const told: TaskResult[] = [];
  const api: Pick<TaskApi, 'result'> = {
    result: async (_task, said) => {
      told.push(said);
      const status = left.shift();
      if (status !== undefined) throw failureOf(status, '{"detail":"cannot be stored"}', undefined);
      return { is_accepted: true, reason: null };
    },
  };
  const isTold = await sendResult({
    api: api as TaskApi,
    task,
    result,
    signal: new AbortController().signal,
    retry: { baseMs: 1, capMs: 2 },
    log: silentLog(),
  });
  return { isTold, told };
};

test('a result is sent again while the control plane is busy, broken or refuses the certificate', async () => {
  const { isTold, told } = await tell([429, 500, 503, 403, 401, 408]);
  assert.equal(isTold, true);
  assert.deepEqual(told, Array(7).fill(result));
});

test('a result that the control plane rejects as malformed is replaced by a failure with the reason', async () => {
  for (const status of [400, 413, 415]) {
    const { isTold, told } = await tell([status, 503]);
    assert.equal(isTold, true);
    assert.equal(told.length, 3, 'the failure is reported until it is accepted');
    const [, , last] = told;
    assert.deepEqual(
      [last?.attempt, last?.state, last?.error_code, last?.output, last?.started_at],
      [2, 'failed', 'host_error', null, null],
    );
    assert.match(last?.reason ?? '', /reported completed.*cannot be stored/);
    assert.match(last?.finished_at ?? '', /^2/);
  }
});

test('results are not sent forever to a control plane that accepts nothing about a task', async () => {
  const { isTold, told } = await tell([400, 400]);
  assert.deepEqual([isTold, told.length], [true, 2]);
});

test('a Retry-After delay is respected', () => {
  const patience = { baseMs: 1, capMs: 10 };
  assert.ok(retryMs(failureOf(429, '', '7'), 1, patience) >= 7000);
  assert.ok(retryMs(failureOf(429, '{"retry_after_s":9}', '7'), 1, patience) >= 9000);
  assert.ok(retryMs(failureOf(429, '', '999999'), 1, patience) <= 300_000, 'but not for a day');
  assert.ok(retryMs(new ControlPlaneError('unreachable', 'x'), 5, patience) <= 10);
});
