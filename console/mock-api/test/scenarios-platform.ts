/** One successful request for each operation of operators. */
import type { Node, Slot } from '../core/rows.ts';
import { ISSUER } from '../seed/people.ts';
import { must, present, type Scenarios, type TestApi } from './request.ts';
import { catalogScenarios } from './scenarios-catalog.ts';
import { openQuotaRequest } from './scenarios-tenant.ts';

const REASON = { reason: 'For a test' };

export const nodeNamed = ({ world }: TestApi, name: string): Node =>
  present(
    [...world.nodes.values()].find((node) => node.name === name),
    `a node ${name}`,
  );
const at = (api: TestApi, name = 'j22u07') => ({ node_id: nodeNamed(api, name).id });
const slotWhere = (api: TestApi, is: (slot: Slot) => boolean): Slot =>
  present([...api.world.slots.values()].find(is), 'such a slot');
const onSlot = (slot: Slot) => ({
  params: { node_id: slot.node_id, slot_id: slot.id },
  body: REASON,
  if_match: slot.version,
});
const free = (api: TestApi) =>
  slotWhere(api, (slot) => slot.status === 'available' && slot.allocation_id === null && slot.approval === 'approved');
const image = (api: TestApi) => present(api.world.images[0], 'an image');
const keyIn = (api: TestApi, state: string) =>
  present(
    api.world.trustKeys.find((key) => key.state === state),
    `a key in ${state}`,
  );
const staged = async (api: TestApi) => {
  const body = { purpose: 'task_signer', ...REASON };
  return must<{ id: string; version: number }>(api, 'adminTrustKeyCreate', { body });
};

const waiting = ({ world }: TestApi): string => present(world.signUpRequests[0], 'a sign-up request').id;

/** An export that names every mapped group, and nobody. */
const membersOf = ({ world }: TestApi) => ({
  issuer: ISSUER,
  exported_at: new Date(world.now()).toISOString(),
  groups: Object.fromEntries(world.groupMappings.map(({ group }): [string, string[]] => [group, []])),
});

const aSite = { version: 1, pools: [{ name: 'spare', purpose: 'For a test' }] };

export const platformScenarios = {
  ...catalogScenarios,
  adminEventStream: () => ({}),
  adminAuditLogList: () => ({}),
  adminAuditLogVerify: () => ({}),
  adminOrganizationList: () => ({}),
  adminOrganizationCreate: () => ({ body: { name: 'initech', owner_email: 'peter@initech.example' } }),
  adminSiteExport: () => ({}),
  adminSitePlan: () => ({ body: { site: aSite } }),
  adminSiteApply: async (api: TestApi) => {
    const { hash } = await must<{ hash: string }>(api, 'adminSitePlan', { body: { site: aSite } });
    return { body: { site: aSite, hash } };
  },
  adminSitePolicyGet: () => ({}),
  adminSitePolicyUpdate: () => ({ body: { sign_up: 'approved' }, if_match: 1 }),
  adminSignUpRequestList: () => ({}),
  adminSignUpRequestApprove: (api) => ({ params: { sign_up_request_id: waiting(api) }, body: {} }),
  adminSignUpRequestReject: (api) => ({ params: { sign_up_request_id: waiting(api) }, body: REASON }),
  adminQuotaRequestList: () => ({}),
  adminQuotaRequestApprove: (api) => ({ params: { quota_request_id: openQuotaRequest(api) }, body: {} }),
  adminQuotaRequestReject: (api) => ({ params: { quota_request_id: openQuotaRequest(api) }, body: REASON }),
  adminGroupMappingList: () => ({}),
  adminGroupMappingCreate: ({ seedIds }) => ({
    body: { group: '/vision', organization_id: seedIds.organization_id, role: 'viewer' },
  }),
  adminGroupMappingDelete: ({ world }) => ({
    params: { group_mapping_id: present(world.groupMappings[0], 'a mapping').id },
  }),
  adminGroupSync: () => ({}),
  adminGroupSyncPlan: (api) => ({ body: { members: membersOf(api) } }),
  adminGroupSyncApply: async (api: TestApi) => {
    const members = membersOf(api);
    const { hash } = await must<{ hash: string }>(api, 'adminGroupSyncPlan', { body: { members } });
    return { body: { members, hash, accept_warnings: true } };
  },
  adminUserList: () => ({}),
  adminUserGet: ({ seedIds }) => ({ params: { user_id: seedIds.users.member } }),
  adminUserUpdate: ({ seedIds }) => ({
    params: { user_id: seedIds.users.member },
    body: { state: 'disabled' },
    if_match: 1,
  }),
  adminRegionUpdate: () => ({ params: { region_name: 'eu-frankfurt-1' }, body: { enabled: true }, if_match: 1 }),
  adminSkuUpdate: () => ({
    params: { sku_name: 'h200-sxm-slice' },
    body: { display_name: 'H200 slice' },
    if_match: 1,
  }),
  adminOsImageList: () => ({}),
  adminOsImageGet: (api) => ({ params: { image_name: image(api).name } }),
  adminOsImageUpdate: (api) => ({
    params: { image_name: image(api).name },
    body: { channel: 'candidate' },
    if_match: 1,
  }),
  adminOsImageRegister: (api) => {
    const { versions: _, enabled: __, retired_at: ___, version: ____, ...rest } = image(api);
    return { body: { ...rest, digest: `sha256:${'a'.repeat(64)}` } };
  },
  adminOsImageRetire: (api) => ({
    params: { image_name: image(api).name },
    body: { digest: image(api).digest, ...REASON },
  }),
  adminNodeList: () => ({}),
  adminSlotMapList: () => ({}),
  adminNodeGet: (api) => ({ params: at(api) }),
  adminNodeSlotList: (api) => ({ params: at(api) }),
  adminNodeSlotGet: (api) => ({ params: onSlot(free(api)).params }),
  adminNodeSlotProofList: (api) => {
    const proof = present(api.world.proofs[0], 'a proof');
    return { params: { node_id: proof.node_id, slot_id: present(proof.slot_id, 'a slot') } };
  },
  adminWipeProofVerify: () => ({}),
  adminNodeLaunchFailuresClear: (api) => ({ params: at(api), body: REASON }),
  adminNodeUpdate: (api) => ({
    params: at(api),
    body: { pool_name: 'shared', ...REASON },
    if_match: nodeNamed(api, 'j22u07').version,
  }),
  adminNodeHold: (api) => ({ params: at(api), body: { is_held: true, ...REASON } }),
  adminHoldCreate: () => ({
    body: { region_name: 'us-buffalo-1', gpu_model: 'H200 SXM', node_count: 1, ...REASON },
  }),
  adminNodeDrain: (api) => ({ params: at(api), body: { is_draining: true, ...REASON } }),
  adminNodeConvertPlan: (api) => ({ params: at(api, 'j22u23'), query: { to: 'slice' } }),
  adminNodeConvert: async (api) => {
    const params = at(api, 'j22u23');
    const plan = await must<{ plan_hash: string }>(api, 'adminNodeConvertPlan', { params, query: { to: 'slice' } });
    return { params, body: { to: 'slice', plan_hash: plan.plan_hash } };
  },
  adminCapacityList: () => ({}),
  adminCapacityHistoryList: () => ({ query: { since: '2026-10-16T10:00:00.000Z' } }),
  adminQuotaList: () => ({}),
  adminQuotaPut: ({ seedIds }) => ({
    body: { organization_id: seedIds.organization_id, project_id: seedIds.project_id, gpu_limit: 64 },
    if_match: 2,
  }),
  adminSchedulerSnapshot: () => ({}),
  adminInvariantCheck: () => ({}),
  adminNodeCreate: () => ({
    body: {
      name: 'j25u05',
      region_name: 'us-buffalo-1',
      gpu_model: 'H200 SXM',
      gpu_count: 8,
      capacity_mode: 'slice',
      host: { product_serial: '5K8YRS4' },
    },
  }),
  adminNodeEnrollmentCreate: (api) => ({ params: at(api, 'j22u17'), body: REASON }),
  adminNodeRebind: (api) => ({
    params: at(api, 'j22u17'),
    body: { ...REASON, host: { product_serial: '4J7XQR3' } },
  }),
  adminNodeAgentGet: (api) => ({ params: at(api) }),
  adminNodeAgentRevoke: (api) => ({ params: at(api), body: REASON }),
  adminNodeAgentUpdate: (api) => ({
    params: at(api),
    body: { version: '0.2.0', digest: `sha256:${'0'.repeat(64)}` },
  }),
  adminNodeRetire: (api) => ({ params: at(api, 'j22u17'), body: REASON }),
  adminNodeDelete: async (api) => {
    const params = at(api, 'j22u17');
    await must(api, 'adminNodeRetire', { params, body: REASON });
    return { params };
  },
  adminNodeTaskList: (api) => ({ params: at(api) }),
  adminNodeTaskGet: (api) => {
    const task = api.world.tasks[0];
    return { params: { node_id: task?.node_id ?? '', task_id: task?.id ?? '' } };
  },
  adminNodeDiscoveryCreate: (api) => ({ params: at(api), body: {} }),
  adminNodeDiscoveryGet: (api) => ({ params: at(api, 'j22u15') }),
  adminNodeDiscoveryFactsGet: (api) => ({ params: at(api) }),
  adminNodeSlotApprove: async (api) => {
    const node = nodeNamed(api, 'j22u13');
    const params = { node_id: node.id };
    const found = await must<{ map: { map_hash: string } }>(api, 'adminNodeDiscoveryGet', { params });
    return { params, body: { map_hash: found.map.map_hash, slot_indexes: [2] } };
  },
  adminNodeSlotDisable: (api) => onSlot(free(api)),
  adminNodeSlotEnable: (api) => onSlot(slotWhere(api, (slot) => slot.approval === 'disabled')),
  adminNodeSlotQuarantine: (api) => onSlot(free(api)),
  adminNodeSlotRepair: (api) => onSlot(slotWhere(api, (slot) => slot.status === 'quarantined')),
  adminNodeSlotMarkWiped: (api) => {
    const { params, body } = onSlot(slotWhere(api, (slot) => slot.status === 'quarantined'));
    return { params, body };
  },
  adminNodeDiskList: (api) => ({ params: at(api) }),
  adminNodeDiskApprove: (api) => ({ params: at(api, 'j22u15'), body: { serial: 'S795NC000062', ...REASON } }),
  adminNodeDiskExclude: (api) => ({ params: at(api, 'j22u15'), body: { serial: 'S795NC000063', ...REASON } }),
  adminNodeDiskRevoke: async (api) => {
    const params = at(api, 'j22u15');
    const body = { serial: 'S795NC000062', ...REASON };
    const { id } = await must<{ id: string }>(api, 'adminNodeDiskApprove', { params, body });
    return { params: { ...params, disk_ownership_id: id }, body: REASON };
  },
  adminNodeHealthGet: (api) => ({ params: at(api, 'j22u29') }),
  adminNodeHealthProbe: (api) => ({ params: at(api), body: {} }),
  adminNodeHealthOverridePut: (api) => ({
    params: { ...at(api, 'j22u29'), source: 'agent' },
    body: { mode: 'merge', alerts: [], muted_alert_ids: ['fabric_manager_down'], expires_at: null, ...REASON },
  }),
  adminNodeHealthOverrideDelete: async (api) => {
    const params = { ...at(api, 'j22u29'), source: 'agent' };
    const body = { mode: 'merge', alerts: [], muted_alert_ids: [], expires_at: null, ...REASON };
    await must(api, 'adminNodeHealthOverridePut', { params, body });
    return { params };
  },
  adminClockGet: () => ({}),
  adminClockConfirm: ({ world }) => {
    Object.assign(world.clock, { is_held: true, reason: 'The clock of the database stepped 6 hours ahead.' });
    return { body: REASON, if_match: world.clock.version };
  },
  adminHealthBreakerGet: () => ({}),
  adminHealthBreakerReset: ({ world }) => {
    Object.assign(world.breaker, { is_tripped: true, reason: 'Nine hosts became unhealthy within a minute.' });
    return { body: REASON, if_match: world.breaker.version };
  },
  adminDoctorGet: () => ({}),
  adminSetupGet: () => ({}),
  adminBackupList: () => ({}),
  adminBackupRecord: () => ({ body: { taken_at: '2026-01-02T03:04:05.000Z', location: 's3://backups/gpuaas' } }),
  adminRestoreGet: () => ({}),
  adminRestoreBegin: () => ({ body: REASON }),
  adminNodeRestoreRelease: async (api) => {
    await must(api, 'adminRestoreBegin', { body: REASON });
    return { params: at(api), body: { accepts_findings: true, ...REASON } };
  },
  adminNodeInventoryGet: (api) => ({ params: at(api, 'j22u31') }),
  adminNodeVmRemove: (api) => ({ params: { ...at(api, 'j22u31'), vm_name: 'gpuaas-alc-leftover' }, body: REASON }),
  adminNodeBundleLeaseEnd: (api) => ({
    params: { ...at(api), allocation_id: 'alc_01k9zv3m8q4t6w2x5y7r0s1n3p' },
    body: REASON,
  }),
  adminNodeImageList: (api) => ({ params: at(api) }),
  adminNodeImagePull: (api) => ({ params: at(api), body: { image_name: 'ubuntu-24.04-h200-base' } }),
  adminNodeImageEvict: (api) => ({ params: at(api), body: { digest: image(api).digest } }),
  adminNodeImageVerify: (api) => ({ params: at(api), body: { digest: image(api).digest } }),
  adminPlatformKeyList: () => ({}),
  adminPlatformKeyRotate: () => ({ body: { kind: 'platform', ...REASON } }),
  adminTrustKeyList: () => ({}),
  adminTrustKeyGet: (api) => ({ params: { trust_key_id: keyIn(api, 'active').id } }),
  adminTrustKeyCreate: () => ({ body: { purpose: 'task_signer', ...REASON } }),
  adminTrustKeyActivate: async (api) => {
    const key = await staged(api);
    return { params: { trust_key_id: key.id }, body: REASON, if_match: key.version };
  },
  adminTrustKeyRetire: (api) => ({ params: { trust_key_id: keyIn(api, 'grace').id }, body: REASON, if_match: 1 }),
  adminTrustKeyRevoke: (api) => ({ params: { trust_key_id: keyIn(api, 'grace').id }, body: REASON, if_match: 1 }),
  adminLogList: () => ({}),
} satisfies Partial<Scenarios>;
