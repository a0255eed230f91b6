/**
 * The node API: requests of agents and their responses, on a separate listener. Every call but the first two uses the
 * node's certificate, and the node in the path must be the one that the certificate names.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { Closed, HostTime, INT_MAX, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';
import { HealthReport } from './health.ts';
import { Inventory } from './inventory.ts';
import { SignedTask, TaskProgress, TaskRefusal, TaskResult } from './task.ts';
import { TASK_KINDS } from './task-kinds.ts';

export type NodeOperation = Readonly<{
  method: 'GET' | 'POST';
  path: `/internal/v1/${string}`;
  summary: string;
  /** `none`: public. `token`: a single-use enrollment token in the body. `certificate`: the node's own. */
  auth: 'none' | 'token' | 'certificate';
  params?: TObject;
  body?: TObject;
  /** Bytes (default 64 KiB). */
  bodyMax?: number;
  response: TSchema | null;
}>;

const node = Closed({ node_id: Id('node') });
const task = Closed({ node_id: Id('node'), task_id: Id('node_task') });
const Pem = Type.String({ minLength: 1, maxLength: 65_536 });

/** Everything an agent trusts. It fetches the bundle again when the version in a response differs from its own. */
export const TrustBundle = Closed({
  version: Type.String({ description: 'Changes with the content.' }),
  ca_bundle_pem: Pem,
  task_signers: Type.Array(
    Closed({ signer_id: Type.String(), public_key_pem: Pem, state: StringEnum(['staged', 'active', 'grace']) }),
  ),
});

const Certificate = Closed({
  node_id: Id('node'),
  certificate_pem: Pem,
  not_after: Time('When it expires.'),
  renew_after: Time('When to renew it.'),
  trust: TrustBundle,
});

const HostField = (description: string) => Nullable(Type.String({ maxLength: 128, description }));

/** What identifies a host, as its firmware and operating system report it; null where it cannot be read. */
const HostReport = Closed({
  product_serial: HostField('Serial number of the system (DMI).'),
  product_uuid: HostField('UUID of the system (DMI).'),
  machine_id: HostField('/etc/machine-id.'),
});
export type HostReport = Static<typeof HostReport>;

export const AgentStatus = {
  agent_version: Type.String({ maxLength: 64 }),
  boot_id: Type.String({ maxLength: 64 }),
  booted_at: HostTime('When the host booted.'),
  kinds: Type.Array(StringEnum(TASK_KINDS), {
    maxItems: 100,
    description: 'Task kinds that this agent supports on this host.',
  }),
  host: HostReport,
};

export const LogLine = Closed({
  timestamp: HostTime('When it was written.'),
  level: StringEnum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']),
  message: Type.String({ maxLength: 4096 }),
  correlation_id: Nullable(Type.String({ maxLength: 128 })),
  error_code: Nullable(Type.String({ maxLength: 64 })),
  fields: Type.Object({}, { additionalProperties: true }),
});

const defineNode = <const T extends Readonly<Record<string, NodeOperation>>>(api: T): T => api;

export const nodeApi = defineNode({
  trustBundleGet: {
    method: 'GET',
    path: '/internal/v1/trust-bundle',
    summary:
      'Get the CA bundle and task signers; the agent compares the fingerprint with the one it was installed with',
    auth: 'none',
    response: TrustBundle,
  },
  nodeEnroll: {
    method: 'POST',
    path: '/internal/v1/nodes/enroll',
    summary:
      'Exchange a single-use token and a signing request for a certificate; refused for another host than the one of the node',
    auth: 'token',
    body: Closed({
      token: Type.String({ minLength: 20, maxLength: 200 }),
      csr_pem: Pem,
      hostname: Type.String({ maxLength: 255 }),
      ...AgentStatus,
    }),
    response: Certificate,
  },
  certificateRenew: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/certificate',
    summary: 'Renew the certificate, for a new key',
    auth: 'certificate',
    params: node,
    body: Closed({ csr_pem: Pem, host: HostReport }),
    response: Certificate,
  },
  taskWait: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/wait',
    summary: 'Wait for tasks (long poll); an empty response after the wait is usual',
    auth: 'certificate',
    params: node,
    body: Closed({
      ...AgentStatus,
      /** Tasks in the agent's journal. Other dispatched tasks are sent again. */
      journaled_task_ids: Type.Array(Id('node_task'), { maxItems: 1000 }),
      trust_version: Type.String({ maxLength: 128 }),
      clock: HostTime('Time of the host.'),
      wait_s: Type.Integer({ minimum: 0, maximum: 30 }),
    }),
    response: Closed({
      tasks: Type.Array(SignedTask),
      /** Tasks of `journaled_task_ids` that have ended in the control plane: do not start them. */
      cancelled: Type.Array(Id('node_task')),
      trust_version: Type.String(),
      server_time: Time('Time of the server.'),
      no_tasks_reason: Type.Optional(Type.String({ description: 'Why this host receives no tasks for now.' })),
    }),
  },
  taskStart: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/{task_id}/start',
    summary: 'Report task start; if refused, do not start',
    auth: 'certificate',
    params: task,
    body: Closed({ attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }) }),
    response: Closed({ may_start: Type.Boolean(), reason: Nullable(Type.String()) }),
  },
  taskProgress: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/{task_id}/progress',
    summary: 'Report the progress of a task',
    auth: 'certificate',
    params: task,
    body: TaskProgress,
    response: Closed({ is_open: Type.Boolean() }),
  },
  taskResult: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/{task_id}/result',
    summary: 'Report a task result; duplicates are ignored',
    auth: 'certificate',
    params: task,
    body: TaskResult,
    bodyMax: 8 * 1024 * 1024,
    response: Closed({ is_accepted: Type.Boolean(), reason: Nullable(Type.String()) }),
  },
  refusalReport: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/refusals',
    summary: 'Report tasks that the agent refused: replayed, forged, addressed to another node, expired or stale',
    auth: 'certificate',
    params: node,
    body: Closed({ refusals: Type.Array(TaskRefusal, { minItems: 1, maxItems: 20 }) }),
    response: Closed({ is_accepted: Type.Boolean() }),
  },
  healthReport: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/health',
    summary: 'Report the results of health checks',
    auth: 'certificate',
    params: node,
    body: Closed({ report: HealthReport }),
    response: Closed({ is_accepted: Type.Boolean() }),
  },
  inventoryReport: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/inventory',
    summary: 'Report the inventory of the host, which the control plane compares with its claims',
    auth: 'certificate',
    params: node,
    body: Closed({ inventory: Inventory }),
    bodyMax: 1024 * 1024,
    response: Closed({
      is_accepted: Type.Boolean(),
      /** Allocations in the report without a claim on this node: their leftovers may be removed. */
      unclaimed: Type.Array(Type.String()),
    }),
  },
  logShip: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/logs',
    summary: 'Send log lines, redacted on the host',
    auth: 'certificate',
    params: node,
    body: Closed({
      /** The agent numbers its lines, so that a batch sent twice is stored once. */
      first_number: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1000 }),
      agent_start_id: Type.String({ maxLength: 64 }),
      lines: Type.Array(LogLine, { maxItems: 500 }),
    }),
    bodyMax: 4 * 1024 * 1024,
    response: Closed({ next_number: Type.Integer() }),
  },
  agentReleaseGet: {
    method: 'GET',
    path: '/internal/v1/agent-releases/{digest}',
    summary: 'Download an agent release',
    auth: 'certificate',
    params: Closed({ digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) }),
    response: null,
  },
});

export type NodeApi = typeof nodeApi;
export type NodeOperationId = keyof NodeApi;
export type NodeBody<K extends NodeOperationId> = NodeApi[K] extends { readonly body: infer S extends TSchema }
  ? Static<S>
  : undefined;
export type NodeParams<K extends NodeOperationId> = NodeApi[K] extends { readonly params: infer S extends TSchema }
  ? Static<S>
  : Record<string, never>;
export type NodeResponse<K extends NodeOperationId> = NodeApi[K]['response'] extends TSchema
  ? Static<NodeApi[K]['response']>
  : undefined;
