import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyDatabase } from '../../server/test/database.ts';
import { runStorm } from './storm.ts';

test('a storm fills and empties a small fleet; every slot is proven wiped and the invariants hold', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-storm-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const database_url = await emptyDatabase(t);
  const done = await runStorm({ nodes: 8, database_url, dir, hang_after_ms: 240_000 });
  assert.equal(done.allocations, 22);
  assert.ok(done.server_cpu_s > 0 && done.database_cpu_s > 0);
});
