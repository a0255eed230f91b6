import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, BAREMETAL_SKU, REGION, SLICE_SKU } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { findNode } from '../db/node.ts';
import { chooseElsewhere, fitsElsewhere, type SoldLaunch } from './elsewhere.ts';
import { refreshSummary } from './summary.ts';

test('a launch finds the next best host for its SKU and shape, never one that it left', async (t) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const [left, other] = [await aNode(sql), await aNode(sql)];
  for (const { id } of [left, other]) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  const node = await database.read(PLATFORM, (reader) => findNode(reader, left.id));
  const launch = (shape: SoldLaunch['capacity_shape'], isOlder = false): SoldLaunch => ({
    capacity_shape: shape,
    sku_name: shape === 'baremetal' ? BAREMETAL_SKU : SLICE_SKU,
    region_name: REGION,
    gpu_count: shape === 'baremetal' ? 8 : 2,
    organization_id: 'org_any',
    vcpu_count: shape === 'baremetal' ? null : 4,
    memory_mib: shape === 'baremetal' ? null : 4096,
    hugepages: shape === 'baremetal' || isOlder ? null : 'auto',
    numa_policy: shape === 'baremetal' || isOlder ? null : 'strict',
  });
  // An older one was sold before profiles said how its memory is placed.
  for (const [shape, isOlder] of [
    ['gpu_slice', false],
    ['gpu_slice', true],
    ['baremetal', false],
  ] as const) {
    const fits = (except: readonly string[]) =>
      database.read(PLATFORM, (reader) => fitsElsewhere(reader, launch(shape, isOlder), node?.gpu_model ?? '', except));
    const chosen = async (except: readonly string[]) =>
      (await database.write(PLATFORM, (tx) => chooseElsewhere(tx, launch(shape, isOlder), except)))?.node.id ?? null;
    assert.deepEqual([await fits([left.id]), await chosen([left.id])], [true, other.id]);
    assert.deepEqual([await fits([left.id, other.id]), await chosen([left.id, other.id])], [false, null]);
  }
});
