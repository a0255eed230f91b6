import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, aTenant, BAREMETAL_SKU, GPU_MODEL, REGION } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { countCapacity } from '../reconcilers/count-capacity.ts';
import { decideWide } from './refusal.ts';
import { refreshSummary } from './summary.ts';

test('a refused launch learns when more is expected, as soon as capacity was counted', async (t) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const tenant = await aTenant(sql);
  const node = await aNode(sql);
  const held = await anAllocation(sql, { node, tenant, shape: 'baremetal', state: 'active', name: 'held' });
  await sql.query("update allocations set release_at = '2099-01-01T10:00:01Z' where id = $1", [held.id]);
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const request = {
    ...{ shape: 'baremetal' as const, sku: BAREMETAL_SKU, region: REGION, gpu_count: 8, gpus_per_node: 8 },
    ...{
      allowed_gpu_counts: [8],
      tenant_id: tenant.organization_id,
      vm: null,
      quota_gpus_remaining: null,
    },
  };
  const decide = () => database.read(PLATFORM, (reader) => decideWide(reader, request, GPU_MODEL));
  const before = await decide();
  assert.deepEqual([before.decision.kind, before.expected], ['unplaceable', null]);
  await countCapacity({ database });
  const after = await decide();
  assert.deepEqual([after.decision.kind, after.expected?.gpus], ['unplaceable', 8]);
  // Counted by a release that did not know it.
  await sql.query("update capacity_counters set counts = counts #- '{baremetal,expected}'");
  assert.equal((await decide()).expected, null);
});
