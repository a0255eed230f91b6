import assert from 'node:assert/strict';
import { actionReason, BAREMETAL_SKU, codesOf, type Scenario, type Scene } from './scenario.ts';

const IMAGE = 'ubuntu-24.04-h200-cuda';

const slotsOf = async ({ must }: Scene, node_id: string) =>
  (await must('operator', 'adminNodeSlotList', { params: { node_id } })).items;

export const fleetScenarios: readonly Scenario[] = [
  {
    name: 'a node is drained, resumed and retired only as its state and its allocations allow',
    play: async ({ addNode, must, refused, launch, active, settle }) => {
      const node_id = await addNode('slice');
      const params = { node_id };
      const { id, at } = await active('resident');
      const drain = (is_draining: boolean) => ({ params, body: { is_draining, reason: 'New firmware' } });
      const retire = { params, body: { reason: 'It is too old' } };
      const busy = await refused('conflict', 'operator', 'adminNodeRetire', retire);
      assert.equal(actionReason(await must('operator', 'adminNodeGet', { params }), 'retire'), busy.detail);
      assert.equal((await must('operator', 'adminNodeDrain', drain(true))).state, 'draining');
      await must('operator', 'adminNodeDrain', drain(true));
      const full = await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('late'));
      assert.ok(codesOf(full).includes('not_ready'));
      assert.match((await refused('conflict', 'operator', 'adminNodeRetire', retire)).detail, new RegExp(id));
      assert.equal((await must('operator', 'adminNodeDrain', drain(false))).state, 'active');
      await refused('conflict', 'operator', 'adminNodeDelete', { params });
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await settle();
      await must('operator', 'adminNodeDrain', drain(true));
      assert.equal((await must('operator', 'adminNodeRetire', retire)).state, 'retired');
      await refused('conflict', 'operator', 'adminNodeDrain', drain(false));
      await must('operator', 'adminNodeDelete', { params });
    },
  },
  {
    name: 'a host is asked to scan itself, check its health and fetch an image, each once at a time',
    play: async ({ addNode, must, refused }) => {
      const params = { node_id: await addNode('slice') };
      const clear = { params, body: { reason: 'The host was checked' } };
      await refused('permission_denied', 'owner', 'adminNodeLaunchFailuresClear', clear);
      await must('operator', 'adminNodeLaunchFailuresClear', clear);
      const pull = { params, body: { image_name: IMAGE } };
      const of = { params, body: { digest: `sha256:${'d'.repeat(64)}` } };
      await refused('permission_denied', 'owner', 'adminNodeImagePull', pull);
      await refused('not_found', 'operator', 'adminNodeImagePull', { params, body: { image_name: 'no-such-image' } });
      for (const [operation, request] of [
        ['adminNodeDiscoveryCreate', { params }],
        ['adminNodeHealthProbe', { params }],
        ['adminNodeImagePull', pull],
        ['adminNodeImageVerify', of],
        ['adminNodeImageEvict', of],
      ] as const) {
        const first = await must('operator', operation, request);
        const again = await must('operator', operation, request);
        assert.equal(again.id, first.id);
      }
    },
  },
  {
    name: 'an agent is updated, and locked out until its host enrolls again',
    play: async ({ addNode, must, refused }) => {
      const params = { node_id: await addNode('slice') };
      const update = { params, body: { version: '9.9.9', digest: `sha256:${'e'.repeat(64)}` } };
      await refused('permission_denied', 'owner', 'adminNodeAgentUpdate', update);
      await must('operator', 'adminNodeAgentUpdate', update);
      await refused('conflict', 'operator', 'adminNodeAgentUpdate', update);
      const because = { params, body: { reason: 'The host was stolen' } };
      await refused('permission_denied', 'owner', 'adminNodeAgentRevoke', because);
      await must('operator', 'adminNodeAgentRevoke', because);
    },
  },
  {
    name: 'another host becomes the node, and nothing that was approved on the earlier one stays',
    play: async (scene) => {
      const { addNode, must, refused, active, settle } = scene;
      const node_id = await addNode('slice');
      const { at } = await active('resident');
      const rebind = {
        params: { node_id },
        body: { reason: 'A new mainboard', host: { product_serial: 'SCENE-NODE-2' } },
      };
      const busy = await refused('conflict', 'operator', 'adminNodeRebind', rebind);
      assert.equal(
        actionReason(await must('operator', 'adminNodeGet', { params: { node_id } }), 'rebind'),
        busy.detail,
      );
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await settle();
      await must('operator', 'adminNodeDrain', {
        params: { node_id },
        body: { is_draining: true, reason: 'A new mainboard' },
      });
      await refused('fresh_sign_in_required', 'stale_operator', 'adminNodeRebind', rebind);
      await must('operator', 'adminNodeRebind', rebind);
      const [slot] = await slotsOf(scene, node_id);
      assert.deepEqual([slot.approval, slot.status], ['disabled', 'quarantined']);
      await must('operator', 'adminNodeRetire', { params: { node_id }, body: { reason: 'It never came' } });
    },
  },
  {
    name: 'alerts of a node are overridden until the override is removed',
    play: async ({ addNode, must, refused, launch }) => {
      const params = { node_id: await addNode('slice'), source: 'agent' };
      const since = '2026-11-15T10:00:00.000Z';
      const alert = {
        ...{ id: 'work', target: 'node', since, message: 'Planned work' },
        ...{ tenant_message: 'The network is slower tonight.', classifications: ['prevent_allocations'] },
      };
      const body = { mode: 'merge', alerts: [alert], muted_alert_ids: [], expires_at: null, reason: 'Planned work' };
      await refused('permission_denied', 'owner', 'adminNodeHealthOverridePut', { params, body });
      await must('operator', 'adminNodeHealthOverridePut', { params, body });
      await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('late'));
      await must('operator', 'adminNodeHealthOverrideDelete', { params });
      await refused('not_found', 'operator', 'adminNodeHealthOverrideDelete', { params });
    },
  },
  {
    name: 'a notice to tenants cannot name the host',
    play: async ({ addNode, refused }) => {
      const node_id = await addNode('slice');
      const since = '2026-11-15T10:00:00.000Z';
      const alert = { id: 'work', target: 'node', since, message: 'Planned work', classifications: [] };
      const body = { mode: 'merge' as const, muted_alert_ids: [], expires_at: null, reason: 'Planned work' };
      for (const tenant_message of ['The host at 10.1.2.3 restarts.', 'GPU 0000:9b:00.0 is replaced.'])
        await refused('invalid_request', 'operator', 'adminNodeHealthOverridePut', {
          params: { node_id, source: 'agent' },
          body: { ...body, alerts: [{ ...alert, tenant_message }] },
        });
    },
  },
  {
    name: 'a held node is kept for bare metal until it is unheld',
    play: async ({ addNode, must, refused, launch, region_name }) => {
      const node_id = await addNode('flexible');
      const hold = (is_held: boolean) => ({ params: { node_id }, body: { is_held, reason: 'For the big run' } });
      assert.equal((await must('operator', 'adminNodeHold', hold(true))).is_held, true);
      const problem = await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('slice'));
      assert.ok(codesOf(problem).includes('held'));
      const body = { region_name, gpu_model: 'H200 SXM', node_count: 2, reason: 'For the big run' };
      await refused('insufficient_capacity', 'operator', 'adminHoldCreate', { body });
      await must('operator', 'adminNodeHold', hold(false));
      await must('operator', 'adminNodeHold', hold(false));
      assert.equal((await must('operator', 'adminHoldCreate', { body: { ...body, node_count: 1 } })).requested, 1);
      await must('owner', 'allocationCreate', launch('metal', { sku_name: BAREMETAL_SKU, gpu_count: 8 }));
    },
  },
  {
    name: 'a node is converted by the plan that was read, and only while nothing holds it',
    play: async ({ addNode, must, refused, active, settle, launch }) => {
      const node_id = await addNode('slice');
      const params = { node_id };
      const plan = () => must('operator', 'adminNodeConvertPlan', { params, query: { to: 'baremetal' } });
      const early = await plan();
      assert.deepEqual([early.is_possible, early.gpus_gained], [true, { slice: -8, baremetal: 8 }]);
      const { at } = await active('tenant', { gpu_count: 2 });
      const convert = (plan_hash: string) => ({ params, body: { to: 'baremetal', plan_hash } });
      await refused('precondition_failed', 'operator', 'adminNodeConvert', convert(early.plan_hash));
      const busy = await plan();
      assert.deepEqual([busy.is_possible, busy.live_claims], [false, 2]);
      await refused('conflict', 'operator', 'adminNodeConvert', convert(busy.plan_hash));
      await must('owner', 'allocationRelease', { ...at, body: {} });
      await settle();
      const now = await must('operator', 'adminNodeConvert', convert((await plan()).plan_hash));
      assert.equal(now.capacity_mode, 'baremetal');
      await refused('insufficient_capacity', 'owner', 'allocationCreate', launch('slice'));
    },
  },
  {
    name: 'a slot is disabled, enabled and quarantined, and never under the allocation that holds it',
    play: async (scene) => {
      const { addNode, must, refused, launch, active } = scene;
      const node_id = await addNode('slice');
      const { id } = await active('holder', { gpu_count: 4 });
      const slots = await slotsOf(scene, node_id);
      const held = slots.find((slot: { allocation_id: string | null }) => slot.allocation_id === id);
      const free = slots.find((slot: { allocation_id: string | null }) => slot.allocation_id === null);
      const on = (slot: { id: string; version: number }, over: object = {}) => ({
        params: { node_id, slot_id: slot.id },
        body: { reason: 'Xid 79' },
        if_match: slot.version,
        ...over,
      });
      const busy = await refused('conflict', 'operator', 'adminNodeSlotQuarantine', on(held));
      assert.equal(actionReason(held, 'quarantine'), busy.detail);
      await refused('conflict', 'operator', 'adminNodeSlotRepair', on(held));
      await refused(
        'precondition_failed',
        'operator',
        'adminNodeSlotDisable',
        on(free, { if_match: free.version + 9 }),
      );
      const disabled = await must('operator', 'adminNodeSlotDisable', on(free));
      assert.equal(disabled.approval, 'disabled');
      const problem = await refused(
        'insufficient_capacity',
        'owner',
        'allocationCreate',
        launch('x', { gpu_count: 4 }),
      );
      assert.ok(codesOf(problem).includes('unapproved'));
      const enabled = await must('operator', 'adminNodeSlotEnable', on(disabled));
      const apart = await must('operator', 'adminNodeSlotQuarantine', on(enabled));
      assert.equal(apart.status, 'quarantined');
      await must('operator', 'adminNodeSlotRepair', on(apart));
      await refused('conflict', 'operator', 'adminNodeSlotMarkWiped', {
        params: { node_id, slot_id: held.id },
        body: { reason: 'It was wiped by hand' },
      });
    },
  },
  {
    name: 'an operator with an old sign-in reads and disables, and must sign in again to enable, retire or create a token',
    play: async (scene) => {
      const { addNode, must, refused } = scene;
      const node_id = await addNode('slice');
      const [slot] = await slotsOf(scene, node_id);
      await must('stale_operator', 'adminNodeGet', { params: { node_id } });
      const over = { params: { node_id, slot_id: slot.id }, body: { reason: 'Xid 79' }, if_match: slot.version };
      const disabled = await must('stale_operator', 'adminNodeSlotDisable', over);
      const enable = { ...over, if_match: disabled.version };
      const old = await refused('fresh_sign_in_required', 'stale_operator', 'adminNodeSlotEnable', enable);
      assert.match(old.detail, /^This change needs a sign-in of the last 60 minutes\. Yours is older/);
      const retire = { params: { node_id }, body: { reason: 'planned' } };
      await refused('fresh_sign_in_required', 'stale_operator', 'adminNodeRetire', retire);
      const token = { body: { name: 'night', scopes: ['read'], expires_in_s: 3600 } };
      await refused('fresh_sign_in_required', 'stale_operator', 'apiTokenCreate', token);
      // A caller who may not do it is not asked to sign in, and an organization's own work needs no fresh sign-in.
      await refused('permission_denied', 'owner', 'adminNodeSlotEnable', enable);
      await must('owner', 'apiTokenCreate', token);
      const scoped = { body: { ...token.body, scopes: ['all', 'fresh_sign_in'] } };
      const denied = await refused('permission_denied', 'owner', 'apiTokenCreate', scoped);
      assert.match(denied.detail, /Only an operator/);
      await must('operator', 'apiTokenCreate', scoped);
      await must('operator', 'adminNodeSlotEnable', enable);
    },
  },
];
