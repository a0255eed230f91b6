/** Responses about agents, their certificates and signing keys, and logs. */
import type { Operations } from '@gpuaas/sdk';
import { placementIds } from './fixtures-allocation.ts';
import { placementAnswers } from './fixtures-placement.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const time = '2026-11-15T10:03:21.000Z';
const later = '2026-11-15T10:18:21.000Z';
const page = <T>(...items: T[]) => ({ items, next_cursor: null });

type Key = Operations['adminTrustKeyGet']['response'];
type PlatformKey = Operations['adminPlatformKeyRotate']['response'];
type Task = Operations['adminNodeAgentUpdate']['response'];
type Agent = Operations['adminNodeAgentGet']['response'];
type Line = Operations['adminLogList']['response']['items'][number];

const ca_sha256 = '3f'.repeat(32);
const host = {
  state: 'named' as const,
  product_serial: '4J7XQR3',
  product_uuid: null,
  machine_id: null,
  bound_at: null,
};
const enrollment = {
  id: id('enr', '1a'),
  node_id: placementIds.node,
  host,
  token: 'gpe_0123456789abcdef',
  expires_at: later,
  node_api_url: 'https://node-api.example.org:8443',
  ca_sha256,
  install_command: `sh install.sh --node-api-url https://node-api.example.org:8443 --ca-sha256 ${ca_sha256} --token-file -`,
};
const agent: Agent = {
  node_id: placementIds.node,
  is_connected: true,
  last_seen_at: time,
  agent_version: '0.1.0',
  boot_id: '5f2b7f2a-90c2-4a1c-8a53-1f6d5d6a7c11',
  booted_at: time,
  clock_skew_ms: -4,
  kinds: ['diag.health_probe', 'slice.topology_discover'],
  certificates: [
    { serial_number: '4f01', not_before: time, not_after: later, revoked_at: null, revoked_reason: null },
    { serial_number: '4f00', not_before: time, not_after: later, revoked_at: time, revoked_reason: 'enrolled again' },
  ],
};
const platformKey: PlatformKey = {
  kind: 'platform',
  version: 2,
  state: 'active',
  state_since: time,
  sealed_values: 240,
  process_count: 5,
  processes_without_key: 0,
  created_at: time,
};
const task: Task = {
  id: id('tsk', '1a'),
  node_id: placementIds.node,
  allocation_id: null,
  kind: 'agent.update',
  label: 'Update agent',
  attempt: 1,
  state: 'queued',
  state_reason: null,
  error_code: null,
  percent: null,
  progress_note: null,
  correlation_id: 'c-0001',
  created_at: time,
  dispatched_at: null,
  started_at: null,
  finished_at: null,
  expires_at: later,
};
const key: Key = {
  id: id('tky', '1a'),
  purpose: 'task_signer',
  state: 'staged',
  state_since: time,
  fingerprint_sha256: 'ab'.repeat(32),
  retires_at: null,
  version: 1,
  created_at: time,
};
const line: Line = {
  logged_at: time,
  level: 'info',
  service: 'gpuaas-api',
  host_role: 'platform_control',
  host_name: 'control-1',
  node_id: null,
  message: 'request',
  correlation_id: 'c-01k9zv3m',
  error_code: null,
  fields: { operation: 'allocationCreate', status: 202 },
};

export const agentAnswers = {
  adminNodeCreate: {
    node: {
      ...placementAnswers.adminNodeGet,
      name: 'j22u15',
      state: 'bootstrap_issued',
      free_gpus: 0,
      is_connected: false,
    },
    enrollment,
  },
  adminNodeEnrollmentCreate: { ...enrollment, host: placementAnswers.adminNodeGet.host },
  adminNodeRebind: { ...enrollment, host: { ...host, state: 'unbound', product_serial: null } },
  adminNodeAgentGet: agent,
  adminNodeAgentRevoke: { ...agent, is_connected: false },
  adminNodeAgentUpdate: task,
  adminNodeRetire: { ...placementAnswers.adminNodeGet, state: 'retired', free_gpus: 0, is_connected: false },
  adminNodeDelete: undefined,
  adminNodeTaskList: page<Task>(
    task,
    {
      ...task,
      id: id('tsk', '2b'),
      kind: 'slice.image_clone',
      label: 'Copy image',
      state: 'running',
      percent: 40,
      progress_note: 'copied 12 of 30 GiB',
    },
    {
      ...task,
      id: id('tsk', '3c'),
      kind: 'slice.cleanup',
      label: 'Wipe disks',
      state: 'failed',
      state_reason: 'the disk is mounted',
      error_code: 'blocked',
    },
  ),
  adminNodeTaskGet: {
    ...task,
    id: id('tsk', '3c'),
    kind: 'image.verify',
    label: 'Verify image',
    state: 'completed',
    percent: 100,
    output: { is_intact: true, size_bytes: 2_361_393_152 },
  },
  adminPlatformKeyList: page<PlatformKey>(
    platformKey,
    { ...platformKey, version: 1, state: 'retiring', sealed_values: 17 },
    { ...platformKey, kind: 'trust', version: 1, sealed_values: 6, process_count: 1 },
  ),
  adminPlatformKeyRotate: platformKey,
  adminTrustKeyList: page<Key>(key, { ...key, id: id('tky', '2b'), purpose: 'node_ca', state: 'active' }),
  adminTrustKeyGet: key,
  adminTrustKeyCreate: { ...key, state: 'requested', fingerprint_sha256: null },
  adminTrustKeyActivate: { ...key, state: 'active', version: 2, nodes_without_key: 2 },
  adminTrustKeyRetire: { ...key, state: 'retired', version: 2 },
  adminTrustKeyRevoke: { ...key, state: 'revoked', version: 2 },
  adminLogList: page<Line>(line, {
    ...line,
    level: 'error',
    service: 'gpuaas-node-agent',
    host_role: 'worker_compute',
    host_name: 'demo-h200-01',
    node_id: placementIds.node,
    message: 'the disk is mounted; nothing was wiped',
    error_code: 'blocked',
  }),
} satisfies { [K in keyof Operations]?: Operations[K]['response'] };
