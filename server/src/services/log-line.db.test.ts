import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '@gpuaas/kit';
import { testClock } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { PLATFORM } from '../db/client.ts';
import { createLogQuota } from '../logs/log-quota.ts';
import { ship } from './log-line.ts';

it('log lines above a node’s daily limit are dropped, reported once and counted the day after', async (t) => {
  const { database } = await testDatabase(t);
  const clock = testClock();
  const said: string[] = [];
  const log = createLog({
    service: 'gpuaas-node-api',
    host_role: 'platform_control',
    destination: { write: (text: string) => void said.push(text) },
  });
  const deps = { database, clock, log, log_quota: createLogQuota(clock, { lines: 3, bytes: 10_000 }) };
  const peer = { node_id: 'nod_a', node_name: 'host-a', fingerprint_sha256: '', enrollment_id: '', host: null };
  const tell = (first_number: number) => {
    const line = { level: 'info' as const, message: 'said', correlation_id: null, error_code: null, fields: {} };
    const lines = [line, line].map((one) => ({ ...one, timestamp: clock.now().toISOString() }));
    return ship(deps, peer, { first_number, agent_start_id: 's', lines });
  };
  for (const first of [0, 2, 4]) assert.deepEqual(await tell(first), { next_number: first + 2 }, 'the agent goes on');
  assert.equal(said.length, 1);
  clock.advance(24 * 3_600_000);
  await tell(6);
  assert.equal(said.length, 2);
  const rows = await database.read(
    PLATFORM,
    async (reader) =>
      (
        await reader.query<{ number: number; level: string; fields: object }>(
          'select number, level, fields from log_lines order by logged_at, level, number',
        )
      ).rows,
  );
  assert.deepEqual(
    rows.map(({ number, level, fields }) => [level, number, fields]),
    [
      ['info', 0, {}],
      ['info', 1, {}],
      ['info', 2, {}],
      ['warn', 1, {}],
      ['info', 6, {}],
      ['info', 7, {}],
      ['warn', 0, { dropped: 3 }],
    ],
  );
});
