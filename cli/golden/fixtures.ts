/**
 * One response for every operation, typed by the SDK: a contract change that the commands do not follow fails to
 * compile.
 */

import { LIMIT_NAMES, LIMITS } from '@gpuaas/contract';
import type {
  AdminOsImage,
  AuditLog,
  CallId,
  Operations,
  ProjectEvent,
  Region,
  Sku,
  WorkflowRun,
  WorkflowStep,
} from '@gpuaas/sdk';
import { fabricOf } from '../../server/src/domain/fabric.ts';
import { RELEASE_ALLOCATION } from '../../server/src/domain/workflow-steps.ts';
import { agentAnswers } from './fixtures-agent.ts';
import { placementIds } from './fixtures-allocation.ts';
import { catalogAnswers } from './fixtures-catalog.ts';
import { certificateAnswers } from './fixtures-certificate.ts';
import {
  account,
  enterprise,
  id,
  ids,
  invitation,
  key,
  later,
  member,
  organization,
  project,
  projectMember,
  time,
  token,
  user,
  webSession,
} from './fixtures-identity.ts';
import { inventoryAnswers } from './fixtures-inventory.ts';
import { placementAnswers } from './fixtures-placement.ts';
import { sessionAnswers } from './fixtures-session.ts';
import { setupAnswers } from './fixtures-setup.ts';
import { siteAnswers } from './fixtures-site.ts';
import { topologyAnswers } from './fixtures-topology.ts';
import { traceAnswers } from './fixtures-trace.ts';

const region: Region = {
  name: 'eu-north-1',
  display_name: 'North',
  enabled: true,
  disabled_reason: null,
  wipe_minimum: 'purge',
  allows_wipe_override: false,
  fabric_isolation: 'none',
  retired_at: null,
  version: 4,
};
const sku: Sku = {
  name: 'h200-sxm-slice',
  display_name: 'H200 SXM slice',
  vendor: 'nvidia',
  gpu_model: 'H200 SXM',
  capacity_shape: 'gpu_slice',
  gpus_per_node: 8,
  allowed_gpu_counts: [1, 2, 4, 8],
  required_parts: ['gpu', 'nvme', 'mac', 'private_ip', 'fabric_vf'],
  gpu_hourly_price: { amount_minor: 349, currency: 'USD' },
  vm_profiles: [{ name: 'h200_1g_24c_64g', gpu_count: 1, vcpu_count: 24, memory_mib: 65_536, is_default: true }],
  enabled: true,
  disabled_reason: null,
  fabric: [{ region_name: 'eu-north-1', ...fabricOf({ capacity_shape: 'gpu_slice', fabric_isolation: 'none' }) }],
  retired_at: null,
  version: 5,
};
const version = {
  digest: `sha256:${'ab'.repeat(32)}`,
  format: 'qcow2',
  size_bytes: 7_516_192_768,
  boot_kind: 'uefi',
  driver_strategy: 'preinstalled',
  readiness_checks: ['cuda_compiler', 'gpu_driver'],
  source: 'build/slice-image at recipe 0123456789abcdef',
  digest_authority: 'the platform team',
} as const satisfies Partial<AdminOsImage>;
const image: AdminOsImage = {
  name: 'ubuntu-24.04-h200-cuda',
  display_name: 'Ubuntu 24.04 with CUDA',
  os_family: 'ubuntu',
  os_version: '24.04',
  ...version,
  sku_names: ['h200-sxm-slice'],
  channel: 'stable',
  trust: 'verified',
  enabled: true,
  default_regions: ['eu-north-1'],
  default_blockers: [],
  hosts_checked: 12,
  hosts_unable: 0,
  unable: [],
  versions: [{ ...version, registered_at: time, retired_at: null, retired_reason: null }],
  retired_at: null,
  version: 2,
};
const notFetched =
  'No host in eu-north-1 has fetched it yet. An active host fetches it automatically. To start this yourself: gpuaas admin node image pull NODE ubuntu-24.04-h200-cuda';
const { default_blockers: _, hosts_checked: __, hosts_unable: ___, unable: ____, ...tenantImage } = image;
const auditLog: AuditLog = {
  id: id('aud', '1a'),
  created_at: time,
  organization_id: ids.organization,
  project_id: ids.project,
  actor_kind: 'user',
  actor_id: ids.user,
  actor_role: 'tenant:owner',
  source_ip: '127.0.0.1',
  user_agent: 'gpuaas-cli/0.1.0',
  action: 'project.create',
  target_kind: 'project',
  target_id: ids.project,
  result: 'success',
  error_code: null,
  policy: 'tenant:owner holds project.create',
  correlation_id: 'corr-1',
  metadata: {},
  sealed: true,
};
export const event: ProjectEvent = {
  specversion: '1.0',
  id: id('evt', '1a'),
  type: 'project.created',
  source: '/gpuaas',
  subject: ids.project,
  time,
  datacontenttype: 'application/json',
  correlationid: 'corr-1',
  organizationid: ids.organization,
  projectid: ids.project,
  data: { project_id: ids.project, name: 'default' },
};
export const organizationEvent: Answers['organizationEventList']['items'][number] = {
  specversion: '1.0',
  id: id('evt', '1b'),
  type: 'quota.decided',
  source: '/gpuaas',
  subject: id('qrq', '1a'),
  time,
  datacontenttype: 'application/json',
  correlationid: 'corr-2',
  organizationid: ids.organization,
  data: {
    quota_request_id: id('qrq', '1a'),
    organization_id: ids.organization,
    project_id: null,
    state: 'approved',
    granted_gpu_limit: 64,
  },
};
export const run: WorkflowRun = {
  id: ids.run,
  workflow: RELEASE_ALLOCATION.name,
  workflow_version: 1,
  subject_id: placementIds.allocation,
  organization_id: ids.organization,
  project_id: ids.project,
  step: 'wipe',
  step_label: RELEASE_ALLOCATION.steps.wipe.label,
  state: 'stuck',
  state_reason: RELEASE_ALLOCATION.steps.wipe.failed,
  state_since: time,
  state_deadline_at: null,
  attempt: 3,
  workers_lost: 0,
  wake_at: null,
  owner: null,
  correlation_id: 'corr-1',
  created_at: time,
  finished_at: null,
  actions: [],
};
const step: WorkflowStep = {
  sequence: 1,
  step: 'wipe',
  label: RELEASE_ALLOCATION.steps.wipe.label,
  attempt: 1,
  outcome: 'error',
  detail: 'The disks could not be wiped. The wipe command failed with status 1.',
  started_at: time,
  finished_at: time,
  duration_ms: 12,
};

export { ids } from './fixtures-identity.ts';
export { recorded } from './fixtures-session.ts';

const page = <T>(...items: T[]) => ({ items, next_cursor: null });

export type Answers = { [K in CallId]: Operations[K]['response'] };

export const answers: Answers = {
  ...placementAnswers,
  ...agentAnswers,
  ...inventoryAnswers,
  ...topologyAnswers,
  ...siteAnswers,
  ...certificateAnswers,
  ...sessionAnswers,
  ...traceAnswers,
  ...setupAnswers,
  meGet: {
    kind: 'user',
    id: ids.user,
    name: 'Ada Lovelace',
    email: 'ada@example.org',
    state: 'active',
    sign_up_request: null,
    platform_role: 'superadmin',
    organizations: [
      { id: ids.organization, name: 'ada', display_name: 'Ada', role: 'owner' },
      { id: ids.enterprise, name: 'acme', display_name: 'Acme Research', role: 'member' },
    ],
    projects: [{ id: ids.project, organization_id: ids.organization, name: 'default', role: 'admin' }],
    credential: { kind: 'api_token', scopes: ['all'], expires_at: later },
  },
  organizationList: page(organization, enterprise),
  organizationCreate: enterprise,
  organizationGet: organization,
  organizationUpdate: organization,
  organizationLimitList: {
    items: LIMIT_NAMES.map((name, n) => {
      const { per, unit, counts, kind } = LIMITS[name];
      return { name, per, unit, counts, max: LIMITS[name].default, used: kind === 'rows' ? n : null };
    }),
  },
  organizationMemberList: page(member, {
    ...member,
    user_id: ids.otherUser,
    name: 'Grace Hopper',
    email: 'grace@example.org',
  }),
  organizationMemberUpdate: { ...member, role: 'viewer' },
  organizationMemberRemove: undefined,
  invitationList: page(invitation),
  invitationCreate: { invitation, token: 'inv-secret-0123456789' },
  invitationRevoke: undefined,
  invitationAccept: enterprise,
  projectList: page(project),
  projectCreate: { ...project, name: 'research', display_name: 'Research group' },
  projectGet: project,
  projectUpdate: { ...project, version: 4 },
  projectDelete: undefined,
  projectMemberList: page(projectMember),
  projectMemberPut: { ...projectMember, user_id: ids.otherUser, name: 'Grace Hopper', role: 'member' },
  projectMemberRemove: undefined,
  serviceAccountList: page(account),
  serviceAccountCreate: { service_account: account, client_secret: 'gps_0123456789abcdef' },
  serviceAccountGet: account,
  serviceAccountUpdate: { ...account, state: 'disabled' },
  serviceAccountDelete: undefined,
  serviceAccountSecretRotate: { service_account: account, client_secret: 'gps_fedcba9876543210' },
  serviceAccountTokenList: page(token),
  serviceAccountTokenCreate: { api_token: token, token: 'gp_0123456789abcdef' },
  serviceAccountTokenRevoke: undefined,
  serviceAccountTokenIssue: { access_token: 'a', token_type: 'Bearer', expires_in: 3600, scope: 'all' },
  webSessionList: page(webSession, {
    ...webSession,
    id: id('wse', '2b'),
    is_current: false,
    user_agent: null,
    source_ip: null,
  }),
  webSessionRevoke: undefined,
  apiTokenList: page(token, { ...token, id: id('tok', '2b'), name: 'old', revoked_at: time }),
  apiTokenCreate: { api_token: token, token: 'gp_0123456789abcdef' },
  apiTokenRevoke: undefined,
  sshKeyList: page(key),
  sshKeyCreate: key,
  sshKeyGet: key,
  sshKeyDelete: undefined,
  regionList: page(region, {
    ...region,
    name: 'us-east-1',
    display_name: 'East',
    enabled: false,
    disabled_reason: 'Opens in January.',
  }),
  skuList: page(sku, {
    ...sku,
    name: 'h200-sxm-baremetal-8g',
    display_name: 'H200 SXM bare metal',
    capacity_shape: 'baremetal',
    allowed_gpu_counts: [8],
    enabled: false,
    disabled_reason: 'Every node is being moved to the new fabric this week.',
  }),
  skuGet: sku,
  osImageList: page(tenantImage),
  osImageGet: tenantImage,
  auditLogList: {
    ...page(auditLog, {
      ...auditLog,
      action: 'service_account.token.create',
      result: 'denied',
      error_code: 'permission_denied',
    }),
    archived_until: null,
  },
  adminAuditLogList: { ...page(auditLog), archived_until: null },
  adminAuditLogVerify: {
    intact: true,
    checked_at: time,
    heads_file_lines: 12,
    chains: [
      {
        chain: ids.organization,
        rows_sealed: 41,
        rows_unsealed: 1,
        unsealed_ids: [id('aud', '9z')],
        head_hash: 'c0ffee'.repeat(8),
        findings: [],
      },
      { chain: 'platform', rows_sealed: 3, rows_unsealed: 0, unsealed_ids: [], head_hash: null, findings: [] },
    ],
  },
  eventList: page(event),
  organizationEventList: page(organizationEvent),
  workflowRunList: page(run),
  workflowRunGet: run,
  workflowRunStepList: page(step),
  adminWorkflowRunList: page(run),
  adminWorkflowRunGet: { ...run, state: 'done', state_reason: null, finished_at: time },
  adminWorkflowRunStepList: page(step),
  adminWorkflowRunRetry: { ...run, state: 'pending', state_reason: null },
  adminWorkflowRunCancel: { ...run, state: 'running', state_reason: null },
  adminOrganizationList: page(organization, enterprise),
  adminUserList: page(user),
  adminUserGet: user,
  adminUserUpdate: { ...user, state: 'disabled', platform_role: null },
  ...catalogAnswers(region, sku, image),
  adminOsImageRegister: { ...image, default_regions: [], default_blockers: [notFetched] },
  adminOsImageRetire: { ...image, enabled: false },
};

/** The rows that the export streams. */
export const exported = [auditLog, { ...auditLog, id: id('aud', '2b'), action: 'project.update' }];
