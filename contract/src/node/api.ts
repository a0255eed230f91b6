/**
 * What an agent may say to the node API and be told by it, on a listener of its own. Every call but the first two is
 * made with the node's certificate, and the node in the path must be the one the certificate names.
 */
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { Closed, HostTime, INT_MAX, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';
import { HealthReport } from './health.ts';
import { Inventory } from './inventory.ts';
import { SignedTask, TaskProgress, TaskResult } from './task.ts';
import { TASK_KINDS } from './task-kinds.ts';

export type NodeOperation = Readonly<{
  method: 'GET' | 'POST';
  path: `/internal/v1/${string}`;
  summary: string;
  /** `none`: public. `token`: a single-use enrollment token in the body. `certificate`: the node's own. */
  auth: 'none' | 'token' | 'certificate';
  params?: TObject;
  body?: TObject;
  /** Bytes; 64 KiB where nothing is said. */
  bodyMax?: number;
  response: TSchema | null;
}>;

const node = Closed({ node_id: Id('node') });
const task = Closed({ node_id: Id('node'), task_id: Id('node_task') });
const Pem = Type.String({ minLength: 1, maxLength: 65_536 });

/** Everything an agent trusts. It asks for it again whenever the version in an answer differs from its own. */
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
  not_after: Time('When it ends.'),
  renew_after: Time('When to renew it.'),
  trust: TrustBundle,
});

export const AgentStanding = {
  agent_version: Type.String({ maxLength: 64 }),
  boot_id: Type.String({ maxLength: 64 }),
  booted_at: HostTime('When the host booted.'),
  kinds: Type.Array(StringEnum(TASK_KINDS), {
    maxItems: 100,
    description: 'What this agent can do on this host.',
  }),
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
    summary: 'The CA bundle and task signers; an agent checks it against the fingerprint it was installed with',
    auth: 'none',
    response: TrustBundle,
  },
  nodeEnroll: {
    method: 'POST',
    path: '/internal/v1/nodes/enroll',
    summary: 'Exchange a single-use token and a signing request for a certificate',
    auth: 'token',
    body: Closed({
      token: Type.String({ minLength: 20, maxLength: 200 }),
      csr_pem: Pem,
      hostname: Type.String({ maxLength: 255 }),
      ...AgentStanding,
    }),
    response: Certificate,
  },
  certificateRenew: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/certificate',
    summary: 'The next certificate, for a new key',
    auth: 'certificate',
    params: node,
    body: Closed({ csr_pem: Pem }),
    response: Certificate,
  },
  taskWait: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/wait',
    summary: 'Rest until there is work; an empty answer after a while is usual',
    auth: 'certificate',
    params: node,
    body: Closed({
      ...AgentStanding,
      /** Tasks the agent holds in its journal. Others that were handed out are handed out again. */
      in_hand: Type.Array(Id('node_task'), { maxItems: 1000 }),
      trust_version: Type.String({ maxLength: 128 }),
      clock: HostTime('The host’s own time.'),
      wait_s: Type.Integer({ minimum: 0, maximum: 30 }),
    }),
    response: Closed({
      tasks: Type.Array(SignedTask),
      /** Tasks of `in_hand` that are over for the platform: not begun yet means not to be begun. */
      cancelled: Type.Array(Id('node_task')),
      trust_version: Type.String(),
      server_time: Time('The platform’s time.'),
      withheld: Type.Optional(Type.String({ description: 'Why this host is handed no work for now.' })),
    }),
  },
  taskStart: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/{task_id}/start',
    summary: 'Report task start; if refused, do not start',
    auth: 'certificate',
    params: task,
    body: Closed({ attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }) }),
    response: Closed({ may_begin: Type.Boolean(), reason: Nullable(Type.String()) }),
  },
  taskProgress: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/tasks/{task_id}/progress',
    summary: 'How far a task is',
    auth: 'certificate',
    params: task,
    body: TaskProgress,
    response: Closed({ is_wanted: Type.Boolean() }),
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
  healthReport: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/health',
    summary: 'What the host’s checks say',
    auth: 'certificate',
    params: node,
    body: Closed({ report: HealthReport }),
    response: Closed({ is_accepted: Type.Boolean() }),
  },
  inventoryReport: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/inventory',
    summary: 'What is on the host, for the platform to compare with its claims',
    auth: 'certificate',
    params: node,
    body: Closed({ inventory: Inventory }),
    bodyMax: 1024 * 1024,
    response: Closed({
      is_accepted: Type.Boolean(),
      /** Allocations named in the report that hold nothing on this node: what is left of them may be cleared away. */
      unclaimed: Type.Array(Type.String()),
    }),
  },
  logShip: {
    method: 'POST',
    path: '/internal/v1/nodes/{node_id}/logs',
    summary: 'Log lines, redacted on the host',
    auth: 'certificate',
    params: node,
    body: Closed({
      /** Lines are numbered by the agent, so that a batch sent twice is kept once. */
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
    summary: 'The bytes of an agent release',
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
export type NodeAnswer<K extends NodeOperationId> = NodeApi[K]['response'] extends TSchema
  ? Static<NodeApi[K]['response']>
  : undefined;
