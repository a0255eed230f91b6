/** Regions, SKUs, VM profiles, prices, pools and images, as operators change them. Each scenario retires what it makes. */
import assert from 'node:assert/strict';
import { BAREMETAL_SKU, type Scenario, SLICE_SKU } from './scenario.ts';

const HOUR_MS = 3_600_000;
const reason = { reason: 'No longer offered' };
const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;

export const catalogScenarios: readonly Scenario[] = [
  {
    name: 'a region is disabled with a reason that tenants read, retired while unused, and comes back',
    play: async ({ must, refused, addNode, region_name }) => {
      const name = `${region_name}-b`;
      const params = { region_name: name };
      const body = { name, display_name: 'Second' };
      await refused('permission_denied', 'owner', 'adminRegionCreate', { body });
      await refused('fresh_sign_in_required', 'stale_operator', 'adminRegionCreate', { body });
      await refused('invalid_request', 'operator', 'adminRegionCreate', { body: { ...body, enabled: false } });
      const made = await must('operator', 'adminRegionCreate', { body });
      assert.equal(made.enabled, true);
      await refused('already_exists', 'operator', 'adminRegionCreate', { body });
      const disable = { params, body: { enabled: false, disabled_reason: 'Moves house' } };
      await refused('precondition_required', 'operator', 'adminRegionUpdate', disable);
      await refused('precondition_failed', 'operator', 'adminRegionUpdate', { ...disable, if_match: made.version + 2 });
      await refused('invalid_request', 'operator', 'adminRegionUpdate', {
        params,
        body: { enabled: false },
        if_match: made.version,
      });
      await must('operator', 'adminRegionUpdate', { ...disable, if_match: made.version });
      await must('operator', 'adminRegionRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminRegionRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminRegionUpdate', { ...disable, if_match: made.version + 2 });
      await must('operator', 'adminRegionGet', { params });
      const again = await must('operator', 'adminRegionCreate', { body });
      assert.deepEqual([again.enabled, again.retired_at], [true, null]);
      await must('operator', 'adminRegionRetire', { params, body: reason });
      await addNode('slice');
      const used = await refused('conflict', 'operator', 'adminRegionRetire', {
        params: { region_name },
        body: reason,
      });
      assert.equal(used.reasons[0].kind, 'node');
      await refused('not_found', 'operator', 'adminRegionRetire', { params: { region_name: 'nowhere' }, body: reason });
    },
  },
  {
    name: 'a SKU is sold in the GPU counts of its profiles, at one price at a time',
    play: async ({ must, refused, region_name }) => {
      const sku_name = `sku-${region_name}`;
      const params = { sku_name };
      const body = {
        name: sku_name,
        display_name: 'Scene GPU',
        vendor: 'nvidia',
        gpu_model: `Model of ${region_name}`,
        capacity_shape: 'gpu_slice',
        gpus_per_node: 8,
        allowed_gpu_counts: [1, 2],
      };
      await refused('permission_denied', 'owner', 'adminSkuCreate', { body });
      await refused('invalid_request', 'operator', 'adminSkuCreate', { body: { ...body, allowed_gpu_counts: [16] } });
      await refused('invalid_request', 'operator', 'adminSkuCreate', { body: { ...body, enabled: false } });
      const made = await must('operator', 'adminSkuCreate', { body });
      assert.ok(made.blockers.length > 0);
      await refused('already_exists', 'operator', 'adminSkuCreate', { body });

      const profile = { name: `${region_name}_1g`.replaceAll('-', '_'), sku_name, gpu_count: 1 };
      const size = { vcpu_count: 12, memory_mib: 65_536 };
      const create = (over: object) => ({ body: { ...profile, ...size, ...over } });
      await refused('invalid_request', 'operator', 'adminVmProfileCreate', create({ sku_name: 'no-such-sku' }));
      await refused('invalid_request', 'operator', 'adminVmProfileCreate', create({ gpu_count: 4 }));
      await refused('invalid_request', 'operator', 'adminVmProfileCreate', create({ sku_name: BAREMETAL_SKU }));
      const first = await must('operator', 'adminVmProfileCreate', create({ is_default: true }));
      await refused('already_exists', 'operator', 'adminVmProfileCreate', create({}));
      const second = `${profile.name}_large`;
      await must('operator', 'adminVmProfileCreate', create({ name: second, vcpu_count: 24 }));
      const at = { params: { vm_profile_name: profile.name } };
      await refused('conflict', 'operator', 'adminVmProfileRetire', { ...at, body: reason });
      const off = { ...at, body: { is_default: false }, if_match: first.version };
      await refused('conflict', 'operator', 'adminVmProfileUpdate', off);
      const at_second = { params: { vm_profile_name: second } };
      const { version } = await must('operator', 'adminVmProfileGet', at_second);
      const larger = { ...at_second, body: { is_default: true, memory_mib: 131_072 } };
      await refused('precondition_failed', 'operator', 'adminVmProfileUpdate', { ...larger, if_match: version + 5 });
      await must('operator', 'adminVmProfileUpdate', { ...larger, if_match: version });
      assert.equal((await must('operator', 'adminVmProfileGet', at)).is_default, false);
      await must('operator', 'adminVmProfileRetire', { ...at, body: reason });
      await refused('conflict', 'operator', 'adminVmProfileRetire', { ...at, body: reason });

      const price = { sku_name, gpu_hourly_price_minor: 250, currency: 'USD' };
      const now = Date.parse((await must('operator', 'adminPriceCreate', { body: price })).valid_from);
      const later = new Date(now + HOUR_MS).toISOString();
      const past = new Date(now - HOUR_MS).toISOString();
      await refused('invalid_request', 'operator', 'adminPriceCreate', { body: { ...price, valid_from: past } });
      await refused('invalid_request', 'operator', 'adminPriceCreate', { body: { ...price, sku_name: 'no-such-sku' } });
      const next = await must('operator', 'adminPriceCreate', { body: { ...price, valid_from: later } });
      await refused('conflict', 'operator', 'adminPriceCreate', { body: { ...price, valid_from: later } });
      const planned = { params: { price_id: String(next.id) }, body: reason };
      await refused('permission_denied', 'owner', 'adminPriceCancel', planned);
      await must('operator', 'adminPriceCancel', planned);
      await refused('conflict', 'operator', 'adminPriceCancel', planned);

      const shown = await must('operator', 'adminSkuGet', { params });
      const update = { params, body: { allowed_gpu_counts: [2] }, if_match: shown.version };
      await refused('conflict', 'operator', 'adminSkuUpdate', update);
      await refused('invalid_request', 'operator', 'adminSkuUpdate', { ...update, body: { enabled: false } });
      await must('operator', 'adminSkuUpdate', {
        ...update,
        body: { allowed_gpu_counts: [1], display_name: 'One GPU' },
      });
      await refused('precondition_failed', 'operator', 'adminSkuUpdate', { ...update, body: { display_name: 'Late' } });
      await must('operator', 'adminSkuRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminSkuRetire', { params, body: reason });
      assert.notEqual((await must('operator', 'adminVmProfileGet', at_second)).retired_at, null);
      await refused('not_found', 'viewer', 'skuGet', { params });
    },
  },
  {
    name: 'a pool is dedicated while it has no nodes, and retired when the last one left it',
    play: async ({ must, refused, addNode, organization_id, region_name }) => {
      const name = `pool-${region_name}`;
      const params = { pool_name: name };
      const body = { name, purpose: 'For the scene' };
      const nobody = 'org_00000000000000000000000000';
      await refused('permission_denied', 'owner', 'adminPoolCreate', { body });
      await refused('invalid_request', 'operator', 'adminPoolCreate', { body: { ...body, organization_id: nobody } });
      const made = await must('operator', 'adminPoolCreate', { body });
      await refused('already_exists', 'operator', 'adminPoolCreate', { body });
      const node_id = await addNode('slice');
      const node = await must('operator', 'adminNodeGet', { params: { node_id } });
      const move = { params: { node_id }, body: { pool_name: name, reason: 'For the scene' } };
      const unknown = { ...move, body: { ...move.body, pool_name: 'no-such-pool' }, if_match: node.version };
      await refused('invalid_request', 'operator', 'adminNodeUpdate', unknown);
      await refused('precondition_failed', 'operator', 'adminNodeUpdate', { ...move, if_match: node.version + 7 });
      const moved = await must('operator', 'adminNodeUpdate', { ...move, if_match: node.version });
      assert.equal(moved.pool_name, name);
      const dedicate = { params, body: { organization_id }, if_match: made.version };
      const kept = await refused('conflict', 'operator', 'adminPoolUpdate', dedicate);
      assert.match(kept.detail, /1 node/);
      await must('operator', 'adminPoolUpdate', { params, body: { purpose: 'Renamed' }, if_match: made.version });
      await refused('precondition_failed', 'operator', 'adminPoolUpdate', {
        ...dedicate,
        body: { purpose: 'Late' },
        if_match: made.version + 5,
      });
      await refused('conflict', 'operator', 'adminPoolRetire', { params, body: reason });
      const back = { params: { node_id }, body: { pool_name: 'shared', reason: 'Done' }, if_match: moved.version };
      await must('operator', 'adminNodeUpdate', back);
      const { version } = await must('operator', 'adminPoolGet', { params });
      const dedicated = await must('operator', 'adminPoolUpdate', { ...dedicate, if_match: version });
      assert.equal(dedicated.kind, 'dedicated');
      await must('operator', 'adminPoolRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminPoolRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminPoolUpdate', { ...dedicate, if_match: version + 2 });
      const again = await must('operator', 'adminPoolCreate', { body });
      assert.deepEqual([again.kind, again.id], ['shared', made.id]);
      await must('operator', 'adminPoolRetire', { params, body: reason });
    },
  },
  {
    name: 'an image gets versions, each digest once, and launches use the newest that is not retired',
    play: async ({ must, refused, region_name }) => {
      const name = `image-${region_name}`;
      const params = { image_name: name };
      const body = {
        name,
        display_name: 'Scene image',
        os_family: 'ubuntu',
        os_version: '24.04',
        digest: digestOf('a'),
        format: 'qcow2',
        size_bytes: 4_294_967_296,
        driver_strategy: 'preinstalled',
        readiness_checks: ['ssh'],
        source: 'https://images.example.com/scene.qcow2',
        digest_authority: 'The team of the scene',
        sku_names: [SLICE_SKU],
      };
      await refused('permission_denied', 'owner', 'adminOsImageRegister', { body });
      await refused('invalid_request', 'operator', 'adminOsImageRegister', {
        body: { ...body, sku_names: ['no-such-sku'] },
      });
      const made = await must('operator', 'adminOsImageRegister', { body });
      assert.deepEqual([made.channel, made.trust, made.boot_kind], ['stable', 'unverified', 'uefi']);
      await refused('conflict', 'operator', 'adminOsImageRegister', { body });
      const newer = await must('operator', 'adminOsImageRegister', { body: { ...body, digest: digestOf('b') } });
      assert.equal(newer.versions.length, 2);
      const update = { params, body: { display_name: 'Renamed', trust: 'verified', channel: 'candidate' } };
      await refused('precondition_required', 'operator', 'adminOsImageUpdate', update);
      await refused('precondition_failed', 'operator', 'adminOsImageUpdate', {
        ...update,
        if_match: newer.version + 5,
      });
      await refused('invalid_request', 'operator', 'adminOsImageUpdate', {
        params,
        body: { sku_names: ['no-such-sku'] },
        if_match: newer.version,
      });
      await must('operator', 'adminOsImageUpdate', { ...update, if_match: newer.version });
      const retire = (letter: string) => ({ params, body: { ...reason, digest: digestOf(letter) } });
      await refused('not_found', 'operator', 'adminOsImageRetire', retire('c'));
      await must('operator', 'adminOsImageRetire', retire('b'));
      await refused('conflict', 'operator', 'adminOsImageRetire', retire('b'));
      const none = await must('operator', 'adminOsImageRetire', retire('a'));
      assert.equal(none.enabled, false);
      await must('operator', 'adminOsImageRetire', { params, body: reason });
      await refused('conflict', 'operator', 'adminOsImageRetire', { params, body: reason });
      const late = { ...update, if_match: none.version + 1 };
      await refused('conflict', 'operator', 'adminOsImageUpdate', late);
      await refused('not_found', 'viewer', 'osImageGet', { params });
      await refused('not_found', 'operator', 'adminOsImageRetire', {
        params: { image_name: 'no-such-image' },
        body: reason,
      });
    },
  },
];
