import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { HostFacts } from '@gpuaas/contract/node';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { anEnrolledNode, discover, discovery, eight, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aCatalog, aNode, anAllocation, SLICE_SKU } from '../../test/placement.ts';
import { newImage } from '../../test/scenarios-image.ts';
import { must, type User } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { loadSchedulerNode } from '../db/placement.ts';

const REGION = 'us-buffalo-1';
const IMAGES = '/api/v1/admin/os-images';

describe('the boot kind of an image', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let root: User;
  let ada: User;
  let sql: Client;
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    root = await test.admin();
    ada = await test.user('ada');
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    await aCatalog(sql);
  });
  after(async () => {
    await assertInvariants(test.db.database);
    await sql.end();
    for (const close of closers) await close();
  });

  const anImage = async (over: object = {}) => {
    const image = { ...newImage(), sku_names: ['h200-sxm-slice', SLICE_SKU], ...over };
    return must(await root.post(IMAGES, image), 201).body;
  };
  const get = async (name: string) => must(await root.get(`${IMAGES}/${name}`), 200).body;
  const reports = async (node: string, boot_kinds: HostFacts['boot_kinds']) => {
    const { facts, ...rest } = discovery(eight(700));
    await discover(test.db.database, node, {
      ...rest,
      facts: boot_kinds === undefined ? facts : { ...facts, boot_kinds },
    });
  };
  /** Its slots are approved as an agent of an earlier release found them. */
  const anApprovedHost = async () => {
    const node = await anEnrolledNode(test.db.database, sql, { region_name: REGION, capacity_mode: 'slice' });
    await reports(node, undefined);
    const at = `/api/v1/admin/nodes/${node}`;
    const { map } = must(await root.get(`${at}/slice-topology/discovery`), 200).body;
    must(await root.post(`${at}/resource-slots/approve`, { map_hash: map.map_hash }), 200);
    await proveFirstWipes(test.db.database, node);
    return node;
  };
  const kindsOf = async (node: string) =>
    (await test.db.database.read(PLATFORM, (reader) => loadSchedulerNode(reader, node)))?.node.boot_kinds;
  const launch = (image_name: string) =>
    ada.post(`/api/v1/projects/${ada.project_id}/allocations`, {
      ...{ name: `s-${randomUUID()}`, sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 1, image_name },
    });

  it('is reported by hosts, decides where it is placed, and the hosts that cannot start it are named', async () => {
    const node = await anApprovedHost();
    const [firmware, kernel] = [await anImage(), await anImage({ boot_kind: 'kernel' })];
    assert.deepEqual([firmware.boot_kind, kernel.boot_kind], ['uefi', 'kernel']);
    assert.deepEqual([firmware.hosts_checked, firmware.hosts_unable, firmware.unable], [0, 0, []]);
    assert.equal(await kindsOf(node), null);
    must(await launch(firmware.name), 202);
    const unknown = must(await launch(kernel.name), 409).body;
    assert.equal(unknown.code, 'insufficient_capacity');

    await reports(node, { value: ['kernel'] });
    const refused = must(await launch(firmware.name), 409).body;
    assert.match(refused.detail, /7 GPUs on nodes that cannot start the image/);
    assert.deepEqual(
      refused.reasons.filter(({ code }: { code: string }) => code === 'boot_kind'),
      [{ code: 'boot_kind', gpus: 7, detail: '7 GPUs on nodes that cannot start the image.' }],
    );
    must(await launch(kernel.name), 202);
    const { name } = must(await root.get(`/api/v1/admin/nodes/${node}`), 200).body;
    const reason = 'host has no UEFI firmware for VMs, which the image needs';
    const shown = await get(firmware.name);
    assert.deepEqual([shown.hosts_checked, shown.hosts_unable], [1, 1]);
    assert.deepEqual(shown.unable, [{ node_id: node, node_name: name, reason }]);
    const { items } = must(await root.get(`${IMAGES}?limit=100`), 200).body;
    const listed = items.find((one: { name: string }) => one.name === kernel.name);
    assert.deepEqual([listed.hosts_checked, listed.hosts_unable, listed.unable], [1, 0, []]);

    await reports(node, { unreadable: 'The disk does not respond.' });
    await reports(node, undefined);
    assert.deepEqual(await kindsOf(node), ['kernel'], 'what is unknown replaces nothing');
    await reports(node, { value: ['uefi', 'kernel'] });
    must(await launch(firmware.name), 202);
    assert.equal((await get(firmware.name)).hosts_unable, 0);
  });

  it('belongs to the version: the newest one decides for launches, and the view shows it', async () => {
    const first = await anImage();
    const second = await anImage({ name: first.name, boot_kind: 'kernel' });
    assert.equal(second.boot_kind, 'kernel');
    assert.deepEqual(
      second.versions.map((one: { boot_kind: string }) => one.boot_kind),
      ['kernel', 'uefi'],
    );
    const tenant = must(await ada.get(`/api/v1/os-images/${first.name}`), 200).body;
    assert.deepEqual([tenant.boot_kind, 'unable' in tenant], ['kernel', false]);
  });

  it('refuses a reinstallation with an image that the host of the VM cannot start', async () => {
    const node = await aNode(sql, { region_name: REGION });
    await reports(node.id, { value: ['uefi'] });
    const tenant = { organization_id: ada.organization_id, project_id: ada.project_id };
    const { id } = await anAllocation(sql, { node, tenant, state: 'active' });
    const path = `/api/v1/projects/${ada.project_id}/allocations/${id}`;
    const [firmware, kernel] = [await anImage(), await anImage({ boot_kind: 'kernel' })];
    const refused = must(await ada.post(`${path}/reinstall`, { image_name: kernel.name }), 400).body;
    assert.deepEqual(
      refused.errors.map(({ pointer, message }: Record<string, string>) => [pointer, message]),
      [['/body/image_name', 'names an image that the host of this VM cannot start. Choose another image']],
    );
    must(await ada.post(`${path}/reinstall`, { image_name: firmware.name }), 202);
  });
});
