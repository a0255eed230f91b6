import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ALLOCATION_STATES } from '@gpuaas/contract';
import { HostFactsShape } from '@gpuaas/contract/node';
import { createClient } from '@gpuaas/sdk';
import { errorsOf } from './core/validate.ts';
import { XSS_MARK } from './seed/hostile.ts';
import { testApi } from './test/request.ts';

const clientOf = (api: ReturnType<typeof testApi>) =>
  createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch, retry: { retriesMax: 0 } });

describe('the demo', () => {
  test('has allocations in every state, slots in every status and nodes that need attention', () => {
    const { world } = testApi();
    const seen = <T>(values: Iterable<T>) => new Set(values);
    const states = seen([...world.allocations.values()].map((row) => row.state));
    assert.deepEqual([...states].toSorted(), [...ALLOCATION_STATES].toSorted());
    const slots = [...world.slots.values()];
    const statuses = seen(slots.map((slot) => slot.status));
    assert.deepEqual(
      [...statuses].toSorted(),
      ['available', 'cleaning', 'cleanup_blocked', 'in_use', 'quarantined', 'reserved'].toSorted(),
    );
    assert.ok(slots.some((slot) => slot.drift !== null) && slots.some((slot) => slot.health === 'unhealthy'));
    const nodes = [...world.nodes.values()];
    assert.equal(nodes.length, 40);
    for (const state of ['active', 'draining', 'offline', 'bootstrap_issued'])
      assert.ok(nodes.some((node) => node.state === state));
    assert.ok(nodes.some((node) => node.reboot_required) && nodes.some((node) => node.findings.length > 0));
    assert.ok([...world.runs.values()].some((run) => run.state === 'stuck'));
  });

  test('is the same at every start', () => {
    const [one, other] = [testApi(), testApi()];
    assert.deepEqual([...one.world.slots.keys()], [...other.world.slots.keys()]);
    assert.deepEqual(one.seedIds, other.seedIds);
  });

  test('claims each slot at most once and names the holder of each held slot', async () => {
    const api = testApi();
    assert.deepEqual((await clientOf(api).adminInvariantCheck()).violations, []);
    for (const slot of api.world.slots.values())
      if (['in_use', 'reserved', 'cleaning', 'cleanup_blocked'].includes(slot.status))
        assert.ok(api.world.allocations.has(slot.allocation_id ?? ''));
  });

  test('has host facts in the format of the agent', async () => {
    const api = testApi();
    const client = clientOf(api);
    for (const node of [...api.world.nodes.values()].filter((one) => one.discovered_at !== null).slice(0, 8)) {
      const facts = await client.adminNodeDiscoveryFactsGet({ params: { node_id: node.id } });
      assert.deepEqual(errorsOf(HostFactsShape, facts), []);
    }
  });
});

test('an empty platform has users and a catalog, and every list operation succeeds', async () => {
  const api = testApi({ seed: 'empty' });
  const client = clientOf(api);
  const params = { project_id: api.seedIds.project_id };
  assert.deepEqual((await client.allocationList({ params })).items, []);
  assert.deepEqual((await client.adminSlotMapList()).items, []);
  assert.deepEqual((await client.adminCapacityList()).items, []);
  assert.ok((await client.regionList()).items.length > 0);
});

test('a large fleet has a thousand hosts with eight slots each', async () => {
  const api = testApi({ seed: 'large', checksResponses: false });
  let [nodes, tiles] = [0, 0];
  for await (const row of clientOf(api).pages.adminSlotMapList({ query: { limit: 200 } })) {
    nodes += 1;
    tiles += row.slots.length;
  }
  assert.equal(nodes, 1_000);
  assert.ok(tiles > 7_900);
});

test('a hostile platform has markup in names, tags, log lines and host reports', async () => {
  const api = testApi({ seed: 'hostile', checksResponses: false });
  const client = clientOf(api);
  const params = { project_id: api.seedIds.project_id };
  const answers = [
    await client.meGet(),
    (await client.allocationList({ params })).items[0]?.tags,
    (await client.adminNodeList()).items[0]?.name,
    (await client.adminLogList()).items[0],
    (await client.auditLogList({ params: { organization_id: api.seedIds.organization_id } })).items[0]?.metadata,
    (await client.regionList()).items,
  ];
  for (const answer of answers) assert.ok(JSON.stringify(answer).includes(XSS_MARK));
});

test('approval of a discovered host is refused while it has blockers, and its disk can be approved', async () => {
  const api = testApi();
  const client = clientOf(api);
  const node = [...api.world.nodes.values()].find((one) => one.name === 'j22u15');
  const params = { node_id: node?.id ?? '' };
  const approve = async () => {
    const { map } = await client.adminNodeDiscoveryGet({ params });
    return client.adminNodeSlotApprove({ params, body: { map_hash: map?.map_hash ?? '', slot_indexes: [0, 2] } });
  };
  await assert.rejects(approve(), (err: { code: string; reasons: unknown[] }) => {
    assert.equal(err.code, 'conflict');
    assert.ok(err.reasons.length >= 2);
    return true;
  });
  const serial = (await client.adminNodeDiscoveryGet({ params })).map?.candidates[2]?.content.nvme_serial ?? '';
  await client.adminNodeDiskApprove({ params, body: { serial, reason: 'Nothing on it is needed' } });
  api.advance(60_000);
  node?.unmet.splice(0);
  assert.equal((await approve()).slots.length, 2);
});
