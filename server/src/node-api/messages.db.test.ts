import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeBody } from '@gpuaas/contract/node';
import { useChannel } from '../../test/channel.ts';
import { PLATFORM } from '../db/client.ts';
import { keepLogPartitions } from '../db/log-line.ts';

const DAY_MS = 24 * 3_600_000;
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();
const report = (more: object = {}): NodeBody<'healthReport'> => ({
  report: { source: 'agent', observed_at: fromNow(0), successes: ['gpu_count'], alerts: [], ...more },
});
const done = (more: object = {}): NodeBody<'taskResult'> => ({
  attempt: 1,
  state: 'completed',
  error_code: null,
  reason: null,
  output: { freed_bytes: 1 },
  started_at: null,
  finished_at: fromNow(0),
  ...more,
});
const line = (more: object = {}): NodeBody<'logShip'>['lines'][number] => ({
  timestamp: fromNow(0),
  level: 'info',
  message: 'said',
  correlation_id: 'c-words',
  error_code: null,
  fields: {},
  ...more,
});

describe('invalid messages of agents', () => {
  const channel = useChannel();

  const kept = (nodeId: string) =>
    channel().rows<{ logged_at: string; message: string; fields: Record<string, unknown>; number: number }>(
      'select logged_at, message, fields, number from log_lines where node_id = $1 order by number',
      [nodeId],
    );

  it('log lines with far-off dates count for the nearest hour and keep their own time', async () => {
    const agent = await channel().join();
    const times = ['2999-01-01T00:00:00Z', fromNow(3 * DAY_MS), '1970-01-01T00:00:01Z', fromNow(-1000)];
    const batch = { first_number: 0, agent_start_id: 's', lines: times.map((timestamp) => line({ timestamp })) };
    for (let n = 0; n < 2; n++) assert.equal((await agent.call('logShip', batch)).status, 200);
    const rows = await kept(agent.node_id);
    assert.deepEqual(
      rows.map((row) => row.fields['own_time']),
      [...times.slice(0, 3), undefined],
      'each once, the last as it was',
    );
    for (const row of rows) {
      assert.ok(Date.parse(row.logged_at) <= Date.now() + DAY_MS / 24, row.logged_at);
      assert.ok(Date.parse(row.logged_at) >= Date.now() - 7.1 * DAY_MS, row.logged_at);
    }
    await channel().test.db.database.write(PLATFORM, (tx) => keepLogPartitions(tx, 7));
    const missing = await channel().rows(
      `select d from generate_series(current_date, current_date + 2, interval '1 day') d
       where to_regclass('log_lines_' || to_char(d, 'YYYYMMDD')) is null`,
    );
    assert.deepEqual(missing, []);
    agent.close();
  });

  it('a NUL character is removed from a log line and does not fail its batch', async () => {
    const agent = await channel().join();
    const lines = [line({ message: 'a\0b', fields: { text: 'c\0', size: 1e300 } }), line({ message: 'next' })];
    assert.equal((await agent.call('logShip', { first_number: 0, agent_start_id: 's', lines })).status, 200);
    assert.deepEqual(
      (await kept(agent.node_id)).map((row) => row.message),
      ['ab', 'next'],
    );
    agent.close();
  });

  it('impossible times, numbers and characters are the agent’s error: 400, never 500', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id, { kind: 'image.evict', params: { digest: 'sha256:00' } });
    await agent.wait();
    const logs = (more: object) => ({ first_number: 0, agent_start_id: 's', lines: [line()], ...more });
    const alert = { id: 'x', target: 'node', message: '', tenant_message: null, classifications: [] };
    const cases = [
      ['logShip', logs({ lines: [line({ timestamp: '0000-01-01T00:00:00Z' })] })],
      ['logShip', logs({ lines: [line({ timestamp: '2016-12-31T23:59:60Z' })] })],
      ['logShip', logs({ first_number: 1e300 })],
      ['logShip', logs({ first_number: Number.MAX_SAFE_INTEGER })],
      ['healthReport', report({ observed_at: '0000-01-01T00:00:00Z' })],
      ['healthReport', report({ observed_at: '2026-01-01T00:00:00+23:59' })],
      ['healthReport', report({ successes: ['a\0'] })],
      ['healthReport', report({ alerts: [{ ...alert, since: '0000-01-01T00:00:00Z' }] })],
      ['healthReport', report({ alerts: [{ ...alert, since: fromNow(0), message: '\ud800' }] })],
      ['taskStart', { attempt: 2 ** 31 }],
      ['taskProgress', { attempt: 1, percent: 1, bytes_per_s: 1e300, note: null }],
      ['taskResult', done({ output: { freed_bytes: 1, deep: [{ text: 'a\0' }] } })],
      ['taskResult', done({ output: { freed_bytes: 1e300 } })],
      ['taskResult', done({ started_at: '0000-01-01T00:00:00Z' })],
      ['taskResult', done({ started_at: '2026-01-01T00:00:00+23:59' })],
      ['taskResult', done({ reason: '\0' })],
    ] as const;
    for (const [operation, body] of cases) {
      const answer = await agent.call(operation, body as never, { task_id: id });
      assert.equal(answer.status, 400, `${operation} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`);
      assert.equal(answer.body.code, 'invalid_request');
    }
    assert.equal((await stateOf(id)).state, 'dispatched', 'nothing of it was taken');
    agent.close();
  });

  it('a health report from the future is refused; an old one and one of too many sources are ignored', async () => {
    const agent = await channel().join();
    const tell = (more: object) => agent.call('healthReport', report(more));
    const ahead = await tell({ observed_at: fromNow(6 * 60_000) });
    assert.deepEqual([ahead.status, ahead.body.errors[0].pointer], [400, '/body/report/observed_at']);
    assert.deepEqual((await tell({ observed_at: fromNow(60_000) })).body, { is_accepted: true });
    assert.deepEqual((await tell({ observed_at: fromNow(0) })).body, { is_accepted: false }, 'a newer one is there');
    for (let n = 1; n < 16; n++) assert.deepEqual((await tell({ source: `s${n}` })).body, { is_accepted: true });
    assert.deepEqual((await tell({ source: 's16' })).body, { is_accepted: false });
    assert.deepEqual((await tell({ source: 's15', observed_at: fromNow(1000) })).body, { is_accepted: true });
    agent.close();
  });

  it('a probe result with a report from the future fails its task', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    await agent.wait();
    const output = report({ observed_at: fromNow(6 * 60_000) });
    assert.equal((await agent.call('taskResult', done({ output }), { task_id: id })).status, 200);
    const { state, state_reason } = await stateOf(id);
    assert.equal(state, 'failed');
    assert.match(state_reason ?? '', /5 minutes/);
    agent.close();
  });
});
