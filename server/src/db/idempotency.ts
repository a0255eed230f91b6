/**
 * Stored responses for Idempotency-Key: at most one effect per (tenant, principal, operation, key), and its response.
 */
import { createHash } from 'node:crypto';
import type { Reader, Tx } from './client.ts';
import { CLOCK_TRUSTED } from './predicates.ts';
import type { IdempotencyKeys } from './types.gen.ts';

export type IdempotencyKey = Readonly<Pick<IdempotencyKeys, 'tenant' | 'principal_id' | 'operation' | 'key'>>;
export type StoredResponse = Readonly<
  Pick<IdempotencyKeys, 'request_hash' | 'status' | 'response' | 'response_sealed'>
>;

const TAKEN = 'idempotency key';
/** Its time has passed: the key may be used again. */
const IS_OVER = `(idempotency_keys.expires_at <= now() and ${CLOCK_TRUSTED})`;
const OF_KEY = `tenant = $1 and principal_id = $2 and operation = $3 and key = $4 and not ${IS_OVER}`;
const keyValues = (id: IdempotencyKey): string[] => [id.tenant, id.principal_id, id.operation, id.key];

const lockNumber = (id: IdempotencyKey): string =>
  createHash('sha256')
    .update([id.tenant, id.principal_id, id.operation, id.key].join('\0'))
    .digest()
    .readBigInt64BE()
    .toString();

/**
 * Try-locks the key for the transaction and ensures that it has no response yet; otherwise the transaction fails. It
 * may be sent together with the work of the key, which then fails with it. Two statements: the lookup must see commits
 * from before the lock was freed, so it needs a snapshot taken after it.
 */
export const claimIdempotencyKey = (tx: Tx, id: IdempotencyKey): Promise<unknown> =>
  Promise.all([
    tx.query(`select require(pg_try_advisory_xact_lock($1::bigint), '${TAKEN}')`, [lockNumber(id)]),
    tx.query(`select require(not exists (select from idempotency_keys where ${OF_KEY}), '${TAKEN}')`, keyValues(id)),
  ]);

/** Whether a transaction failed because its key has a response or is in flight. */
export const isKeyTaken = (err: unknown): boolean =>
  err instanceof Error && 'code' in err && err.code === 'GP409' && err.message === TAKEN;

export const findStoredResponse = async (reader: Reader, id: IdempotencyKey): Promise<StoredResponse | undefined> => {
  const { rows } = await reader.query<StoredResponse>(
    `select request_hash, status, response, response_sealed from idempotency_keys where ${OF_KEY}`,
    keyValues(id),
  );
  return rows[0];
};

/** Of `INSERT_RESPONSE`. */
export const RESPONSE_PARAMETERS = {
  tenant: 'text',
  principal_id: 'text',
  operation: 'text',
  key: 'text',
  request_hash: 'bytea',
  status: 'integer',
  response: 'bytea',
  response_sealed: 'boolean',
} as const;

/** An expired record of the same key is replaced. */
export const INSERT_RESPONSE = `insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed)
  values (:tenant, :principal_id, :operation, :key, :request_hash, :status, :response, :response_sealed)
  on conflict (tenant, principal_id, operation, key) do update set request_hash = excluded.request_hash,
    status = excluded.status, response = excluded.response, response_sealed = excluded.response_sealed, created_at = now(),
    expires_at = excluded.expires_at where ${IS_OVER}`;

export const deleteExpiredIdempotencyKeys = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select tenant, principal_id, operation, key from idempotency_keys
         where expires_at < now() order by expires_at limit $1 for update skip locked)
       delete from idempotency_keys k using old
       where (k.tenant, k.principal_id, k.operation, k.key) = (old.tenant, old.principal_id, old.operation, old.key)`,
      [limit],
    )
  ).rowCount;
