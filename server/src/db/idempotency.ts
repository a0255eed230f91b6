/** The memory behind Idempotency-Key: at most one effect per (tenant, principal, operation, key), and its answer. */
import { createHash } from 'node:crypto';
import type { Tx } from './client.ts';

export type IdempotencyKey = Readonly<{ tenant: string; principal_id: string; operation: string; key: string }>;
export type StoredResponse = Readonly<{
  request_hash: Buffer;
  status: number;
  response: Buffer;
  response_sealed: boolean;
}>;

const lockNumber = (id: IdempotencyKey): string =>
  createHash('sha256')
    .update([id.tenant, id.principal_id, id.operation, id.key].join('\0'))
    .digest()
    .readBigInt64BE()
    .toString();

/**
 * Try-locks the key for the transaction and looks for an earlier answer. Two statements, sent together: the look-up
 * must see what was committed before the lock came free, so it needs a snapshot taken after it.
 */
export const claimIdempotencyKey = async (
  tx: Tx,
  id: IdempotencyKey,
): Promise<{ locked: boolean; stored: StoredResponse | undefined }> => {
  const [lock, stored] = await Promise.all([
    tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1::bigint) as locked', [lockNumber(id)]),
    tx.query<StoredResponse>(
      `select request_hash, status, response, response_sealed from idempotency_keys
       where tenant = $1 and principal_id = $2 and operation = $3 and key = $4 and expires_at > now()`,
      [id.tenant, id.principal_id, id.operation, id.key],
    ),
  ]);
  return { locked: lock.rows[0]?.locked ?? false, stored: stored.rows[0] };
};

/** An expired record of the same key is replaced: its time was promised to be over. */
export const insertIdempotencyRecord = (tx: Tx, id: IdempotencyKey, record: StoredResponse) =>
  tx.query(
    `insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (tenant, principal_id, operation, key) do update set request_hash = excluded.request_hash, status = excluded.status,
       response = excluded.response, response_sealed = excluded.response_sealed, created_at = now(), expires_at = excluded.expires_at
     where idempotency_keys.expires_at <= now()`,
    [
      id.tenant,
      id.principal_id,
      id.operation,
      id.key,
      record.request_hash,
      record.status,
      record.response,
      record.response_sealed,
    ],
  );
