/** Rows of the embedded issuer. Identifiers arrive hashed and contents sealed: this module cannot read them. */
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { OidcRecords, OidcSigningKeys } from './types.gen.ts';

export type OidcRecordRow = Readonly<Pick<OidcRecords, 'model' | 'id_hash' | 'sealed_payload' | 'consumed_at'>>;

export type OidcRecordWrite = Readonly<
  Pick<OidcRecords, 'model' | 'id_hash' | 'grant_hash' | 'uid_hash' | 'user_code_hash' | 'sealed_payload'> & {
    ttl_s: number;
  }
>;

const COLUMNS = 'model, id_hash, sealed_payload, consumed_at';

export const findOidcRecord = async (
  reader: Reader,
  model: string,
  idHash: Buffer,
): Promise<OidcRecordRow | undefined> => {
  const { rows } = await reader.query<OidcRecordRow>(
    `select ${COLUMNS} from oidc_records where model = $1 and id_hash = $2`,
    [model, idHash],
  );
  return rows[0];
};

export const findOidcRecordByUid = async (reader: Reader, uidHash: Buffer): Promise<OidcRecordRow | undefined> => {
  const { rows } = await reader.query<OidcRecordRow>(
    `select ${COLUMNS} from oidc_records where uid_hash = $1 order by expires_at desc limit 1`,
    [uidHash],
  );
  return rows[0];
};

export const findOidcRecordByUserCode = async (
  reader: Reader,
  userCodeHash: Buffer,
): Promise<OidcRecordRow | undefined> => {
  const { rows } = await reader.query<OidcRecordRow>(`select ${COLUMNS} from oidc_records where user_code_hash = $1`, [
    userCodeHash,
  ]);
  return rows[0];
};

const UPSERT_OIDC_RECORD = statement(
  {
    model: 'text',
    id_hash: 'bytea',
    grant_hash: 'bytea | null',
    uid_hash: 'bytea | null',
    user_code_hash: 'bytea | null',
    sealed_payload: 'bytea',
    ttl_s: 'float8',
  },
  `insert into oidc_records (model, id_hash, grant_hash, uid_hash, user_code_hash, sealed_payload, expires_at)
   values (:model, :id_hash, :grant_hash, :uid_hash, :user_code_hash, :sealed_payload, now() + :ttl_s * interval '1 second')
   on conflict (model, id_hash) do update set
     grant_hash = excluded.grant_hash, uid_hash = excluded.uid_hash, user_code_hash = excluded.user_code_hash,
     sealed_payload = excluded.sealed_payload, expires_at = excluded.expires_at`,
);

/** A later write of the same record keeps the time it was consumed: a used code never becomes valid again. */
export const upsertOidcRecord = async (tx: Tx, record: OidcRecordWrite): Promise<void> => {
  await UPSERT_OIDC_RECORD.query(tx, record);
};

/** Returns false when the record was consumed before: of two racing callers, one wins. */
export const consumeOidcRecord = async (tx: Tx, model: string, idHash: Buffer): Promise<boolean> => {
  const { rowCount } = await tx.query(
    'update oidc_records set consumed_at = now() where model = $1 and id_hash = $2 and consumed_at is null',
    [model, idHash],
  );
  return rowCount === 1;
};

export const deleteOidcRecord = async (tx: Tx, model: string, idHash: Buffer): Promise<void> => {
  await tx.query('delete from oidc_records where model = $1 and id_hash = $2', [model, idHash]);
};

/** Deletes everything issued under one grant, including other models' records. */
export const deleteOidcRecordsOfGrant = async (tx: Tx, grantHash: Buffer): Promise<void> => {
  await tx.query('delete from oidc_records where grant_hash = $1', [grantHash]);
};

export const deleteExpiredOidcRecords = async (tx: Tx): Promise<number> => {
  const { rowCount } = await tx.query("delete from oidc_records where expires_at < now() - interval '1 minute'");
  return rowCount;
};

export type OidcSigningKeyRow = Readonly<Pick<OidcSigningKeys, 'kid' | 'algorithm' | 'sealed_jwk' | 'retired_at'>>;

/** The signing key first, then retired ones from new to old. */
export const listOidcSigningKeys = async (reader: Reader): Promise<readonly OidcSigningKeyRow[]> => {
  const { rows } = await reader.query<OidcSigningKeyRow>(
    `select kid, algorithm, sealed_jwk, retired_at from oidc_signing_keys
     order by retired_at desc nulls first, kid`,
  );
  return rows;
};

/** Does nothing when there is a signing key already: of several replicas that start at once, one creates it. */
export const insertOidcSigningKey = async (
  tx: Tx,
  key: Readonly<{ kid: string; algorithm: string; sealed_jwk: Buffer }>,
): Promise<void> => {
  await tx.query(
    'insert into oidc_signing_keys (kid, algorithm, sealed_jwk) values ($1, $2, $3) on conflict do nothing',
    [key.kid, key.algorithm, key.sealed_jwk],
  );
};

/** Retired keys are dropped once no token they signed can still be alive. */
export const deleteRetiredOidcSigningKeys = async (tx: Tx, olderThanS: number): Promise<void> => {
  await tx.query("delete from oidc_signing_keys where retired_at < now() - $1 * interval '1 second'", [olderThanS]);
};
