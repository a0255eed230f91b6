/**
 * Verifies a delivered task. One signature covers many tasks: the signed bytes are computed from this task's exact
 * bytes and the hashes it came with, and checked before anything in it is trusted. Then the node, the time, the kind
 * and the shape are checked. An attacker with the connection but without a signing key cannot make a host do anything.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  CLOCK_SKEW_MAX_MS,
  type SignedTask,
  TASK_KINDS,
  type TaskErrorCode,
  type TaskPayload,
  type TrustBundle,
  taskTreeBytes,
} from '@gpuaas/contract/node';
import { paramsMismatch, payloadMismatch } from './schemas.ts';

export type Verdict =
  | Readonly<{ is_valid: true; payload: TaskPayload }>
  | Readonly<{
      is_valid: false;
      code: TaskErrorCode;
      reason: string;
      /** As far as the text contains it; null otherwise. */
      task: Readonly<{ task_id: string; attempt: number; correlation_id: string | null }> | null;
    }>;

/** Keys of the signers in a bundle. Staged ones count: a key becomes active before every agent has received it. */
export type Signers = ReadonlyMap<string, KeyObject>;

export const signersOf = (trust: TrustBundle): Signers => {
  const signers = new Map<string, KeyObject>();
  for (const signer of trust.task_signers) {
    const key = createPublicKey(signer.public_key_pem);
    if (key.asymmetricKeyType === 'ed25519') signers.set(signer.signer_id, key);
  }
  return signers;
};

export const verifyTask = (
  signed: SignedTask,
  context: Readonly<{ node_id: string; signers: Signers; now: Date }>,
): Verdict => {
  const value = parse(signed.payload);
  const task = headOf(value);
  const refuse = (code: TaskErrorCode, reason: string): Verdict => ({ is_valid: false, code, reason, task });

  const key = context.signers.get(signed.signer_id);
  if (key === undefined) return refuse('unknown_signer', 'The task is signed by a key that this host does not trust.');
  const bytes = taskTreeBytes(signed.payload, signed.proof);
  if (bytes === null || !verify(null, bytes, key, Buffer.from(signed.signature, 'base64')))
    return refuse('bad_signature', 'The task signature does not match its content.');
  if (value === undefined) return refuse('bad_params', 'The signed content is not JSON.');

  const kind = (value as { kind?: unknown } | null)?.kind;
  if (typeof kind === 'string' && !(TASK_KINDS as readonly string[]).includes(kind))
    return refuse('unknown_kind', `This agent does not know task kind ${kind.slice(0, 64)}.`);
  const wrong = payloadMismatch(value);
  if (wrong !== null) return refuse('bad_params', `The task does not match the contract: ${wrong}.`);
  const payload = value as TaskPayload;
  if (payload.node_id !== context.node_id) return refuse('wrong_node', 'The task is addressed to another node.');

  const skew = context.now.getTime() - Date.parse(payload.issued_at);
  if (context.now.getTime() > Date.parse(payload.expires_at))
    return refuse(
      'expired',
      `The task expired at ${payload.expires_at}; the clock of this host reads ${context.now.toISOString()}.`,
    );
  if (Math.abs(skew) > CLOCK_SKEW_MAX_MS)
    return refuse(
      'clock_skew',
      `The task was signed ${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? 'before' : 'after'} the time on this host: the clock is wrong, or the task is a replay.`,
    );
  const mismatch = paramsMismatch(payload.kind, payload.params);
  if (mismatch !== null)
    return refuse('bad_params', `The parameters of ${payload.kind} do not match the contract: ${mismatch}.`);
  return { is_valid: true, payload };
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const headOf = (value: unknown): Extract<Verdict, { is_valid: false }>['task'] => {
  const { task_id, attempt, correlation_id } = (value ?? {}) as Record<string, unknown>;
  if (typeof task_id !== 'string' || !/^tsk_[0-9a-z]{26}$/.test(task_id)) return null;
  if (typeof attempt !== 'number' || !Number.isInteger(attempt) || attempt < 1) return null;
  return { task_id, attempt, correlation_id: typeof correlation_id === 'string' ? correlation_id.slice(0, 128) : null };
};
