/**
 * The envelope of a task: the exact text that was signed, so that both sides need no common way to serialize JSON. Also
 * its progress and its result. `task-kinds.ts` declares the kinds of tasks.
 */
import Type from 'typebox';
import { Closed, HostTime, INT_MAX, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';
import { TASK_KINDS } from './task-kinds.ts';
import { PROOF_STEPS_MAX } from './task-tree.ts';

/** How far the clock of a host may be from the time of the control plane; beyond it, the agent refuses tasks. */
export const CLOCK_SKEW_MAX_MS = 2 * 60_000;

/** What is signed. A task is bound to node and attempt; its slots carry their generations. */
export const TaskPayload = Closed({
  task_id: Id('node_task'),
  node_id: Id('node'),
  kind: StringEnum(TASK_KINDS),
  attempt: Type.Integer({ minimum: 1 }),
  params: Type.Object({}, { additionalProperties: true }),
  allocation_id: Nullable(Type.String()),
  correlation_id: Type.String(),
  issued_at: Time('When it was signed. The agent refuses it if this differs too much from the clock of the host.'),
  expires_at: Time('The agent does not start the task after this time.'),
});

export const SignedTask = Closed({
  payload: Type.String({ description: 'The exact text that the signature covers: a TaskPayload as JSON.' }),
  signer_id: Type.String(),
  proof: Type.Array(Type.String({ pattern: '^(left|right):[A-Za-z0-9_-]{43}$' }), {
    maxItems: PROOF_STEPS_MAX,
    description:
      'Merkle path from this payload to the signed root, for tasks that were signed together: for each sibling its ' +
      'side and hash, SHA-256 in base64url, as in RFC 6962 (prefix 0x00 for a leaf, 0x01 for a pair). Empty for a single task.',
  }),
  signature: Type.String({
    description: 'Ed25519 over the line "gpuaas task tree v1" and the 32 bytes of the root, base64.',
  }),
});

/** Why an agent did not do a task, in stable words. */
export const TASK_ERRORS = [
  'bad_signature',
  'unknown_signer',
  'wrong_node',
  'expired',
  'clock_skew',
  'stale_generation',
  'unknown_kind',
  'bad_params',
  'conflict',
  'drift',
  /** The image itself: what its source serves has another digest, is missing or is no usable disk image. */
  'bad_image',
  /** The image cache of this host: a fresh copy could not be kept or read. */
  'bad_image_cache',
  'blocked',
  'vfio_group_unavailable',
  'no_space',
  'unsupported',
  'timeout',
  'host_error',
] as const;

export const TaskResult = Closed({
  attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }),
  state: StringEnum(['completed', 'failed']),
  error_code: Nullable(StringEnum(TASK_ERRORS)),
  reason: Nullable(Type.String({ maxLength: 2000 })),
  output: Nullable(Type.Object({}, { additionalProperties: true })),
  started_at: Nullable(HostTime('When the agent started it.')),
  finished_at: HostTime('When it ended.'),
});

export const TaskProgress = Closed({
  attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }),
  percent: Type.Integer({ minimum: 0, maximum: 100 }),
  bytes_per_s: Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  note: Nullable(Type.String({ maxLength: 200 })),
});

/** A delivered task that the agent refused before it did anything. `key` is the same for every delivery of it. */
export const TaskRefusal = Closed({
  key: Type.String({ minLength: 1, maxLength: 128 }),
  task_id: Nullable(Type.String({ maxLength: 64, description: 'As far as the text names one.' })),
  signer_id: Type.String({ maxLength: 64 }),
  error_code: StringEnum(TASK_ERRORS),
  reason: Type.String({ maxLength: 2000 }),
  refused_at: HostTime('When the agent refused it first.'),
});
