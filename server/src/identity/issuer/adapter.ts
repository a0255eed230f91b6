/**
 * Storage of oidc-provider: one table for every model. A record is found by a keyed hash of its identifier and its
 * content is sealed to that hash, so the table holds no usable code, session or refresh token.
 */
import { createHmac } from 'node:crypto';
import { type Adapter, errors, type Payload } from 'oidc-provider';
import { type Database, PLATFORM, type Reader, type Tx } from '../../db/client.ts';
import {
  consumeOidcRecord,
  deleteExpiredOidcRecords,
  deleteOidcRecord,
  deleteOidcRecordsOfGrant,
  findOidcRecord,
  findOidcRecordByUid,
  findOidcRecordByUserCode,
  type OidcRecordRow,
  upsertOidcRecord,
} from '../../db/oidc.ts';
import { SEALED_TO } from '../../domain/sealed.ts';
import { AppError } from '../../errors.ts';
import type { Secrets } from '../../ports/secrets/secrets.ts';

/** Records that end with their grant. Others may name a grant without belonging to it. */
const OF_A_GRANT = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode']);
const TTL_DEFAULT_S = 3600;
const WRITES_PER_CLEANUP = 200;

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** An unavailable database is neither the client's error nor a defect: the client may retry. */
const asOidcError = (err: unknown): unknown => {
  if (!(err instanceof AppError) || err.code !== 'unavailable') return err;
  const away = new errors.OIDCProviderError(503, 'temporarily_unavailable');
  away.error_description = err.message;
  away.expose = true;
  away.cause = err;
  return away;
};

export const createAdapterFactory = (
  options: Readonly<{ database: Database; secrets: Secrets }>,
): ((model: string) => Adapter) => {
  const hashKey = options.secrets.derive('oidc/record-index', 32);
  let writes = 0;

  const read = <T>(fn: (reader: Reader) => Promise<T>): Promise<T> =>
    options.database.read(PLATFORM, fn).catch((err: unknown) => Promise.reject(asOidcError(err)));
  const write = <T>(fn: (tx: Tx) => Promise<T>): Promise<T> =>
    options.database.write(PLATFORM, fn).catch((err: unknown) => Promise.reject(asOidcError(err)));

  const hash = (purpose: string, value: string): Buffer =>
    createHmac('sha256', hashKey).update(`${purpose}\0${value}`).digest();
  const hashOrNull = (purpose: string, value: string | null): Buffer | null =>
    value === null ? null : hash(purpose, value);

  const open = (row: OidcRecordRow | undefined): Payload | undefined => {
    if (row === undefined) return undefined;
    const payload = JSON.parse(
      options.secrets.open(row.sealed_payload, SEALED_TO.oidc_record(row.model, row.id_hash)),
    ) as Payload;
    return row.consumed_at === null
      ? payload
      : { ...payload, consumed: Math.floor(Date.parse(row.consumed_at) / 1000) };
  };

  return (model) => ({
    upsert: async (id, payload, expiresIn) => {
      const idHash = hash(`id/${model}`, id);
      await write(async (tx) => {
        await upsertOidcRecord(tx, {
          model,
          id_hash: idHash,
          grant_hash: OF_A_GRANT.has(model) ? hashOrNull('grant', text(payload['grantId'])) : null,
          uid_hash: model === 'Session' ? hashOrNull('uid', text(payload['uid'])) : null,
          user_code_hash: hashOrNull('user-code', text(payload['userCode'])),
          sealed_payload: options.secrets.seal(JSON.stringify(payload), SEALED_TO.oidc_record(model, idHash)),
          ttl_s: expiresIn ?? TTL_DEFAULT_S,
        });
        if (++writes % WRITES_PER_CLEANUP === 0) await deleteExpiredOidcRecords(tx);
      });
    },
    find: async (id) => open(await read((reader) => findOidcRecord(reader, model, hash(`id/${model}`, id)))),
    findByUid: async (uid) => open(await read((reader) => findOidcRecordByUid(reader, hash('uid', uid)))),
    findByUserCode: async (code) =>
      open(await read((reader) => findOidcRecordByUserCode(reader, hash('user-code', code)))),
    consume: async (id) => {
      const first = await write((tx) => consumeOidcRecord(tx, model, hash(`id/${model}`, id)));
      if (!first) throw new errors.InvalidGrant(`${model} was used by another request at the same time`);
    },
    destroy: (id) => write((tx) => deleteOidcRecord(tx, model, hash(`id/${model}`, id))),
    revokeByGrantId: (grantId) => write((tx) => deleteOidcRecordsOfGrant(tx, hash('grant', grantId))),
  });
};
