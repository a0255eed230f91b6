/** Signing keys of the platform. The lock ensures that the first process that needs a key creates it once. */
import type { Reader, Tx } from './client.ts';
import { LOCKS } from './lock.ts';
import type { KeyKind } from './platform-key.ts';
import { CLOCK_TRUSTED } from './predicates.ts';
import { statement } from './statement.ts';
import type { TrustKeys } from './types.gen.ts';

export type TrustPurpose = TrustKeys['purpose'];
export type TrustState = TrustKeys['state'];

/**
 * Which key seals the private half. A process without the trust key can neither issue certificates for hosts nor sign
 * tasks. Wipe certificates are signed by the API whenever a tenant reads one.
 */
const SEALED_BY: Readonly<Record<TrustPurpose, KeyKind>> = {
  node_ca: 'trust',
  task_signer: 'trust',
  certificate_signer: 'platform',
};

export const purposesOf = (kind: KeyKind): TrustPurpose[] =>
  (Object.keys(SEALED_BY) as TrustPurpose[]).filter((purpose) => SEALED_BY[purpose] === kind);

export type TrustKeyRow = Readonly<
  Pick<
    TrustKeys,
    'id' | 'purpose' | 'state' | 'state_since' | 'fingerprint_sha256' | 'retires_at' | 'version' | 'created_at'
  >
>;

/** Of an existing key; a requested one has none of these yet. */
type Material = Readonly<{ public_pem: string; fingerprint_sha256: string; sealed_private_key: Buffer }>;

export type TrustKeySecret = Readonly<
  Pick<TrustKeys, 'id' | 'purpose'> & Material & { state: 'staged' | 'active' | 'grace' }
>;

const KEY = 'id, purpose, state, state_since, fingerprint_sha256, retires_at, version, created_at';

/** Held until the transaction ends. */
export const lockTrust = async (tx: Tx): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCKS.trust_keys]);
};

/** The trusted keys, in a stable order. */
export const listTrusted = async (reader: Reader): Promise<TrustKeySecret[]> =>
  (
    await reader.query<TrustKeySecret>(
      `select id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key from trust_keys
       where state in ('staged', 'active', 'grace') order by id`,
    )
  ).rows;

export const findActiveKeyId = async (reader: Reader, purpose: TrustPurpose): Promise<string | undefined> =>
  (await reader.query<{ id: string }>("select id from trust_keys where purpose = $1 and state = 'active'", [purpose]))
    .rows[0]?.id;

/** Of the CA of the listener's certificate: the oldest trusted one. */
export const findShownFingerprint = async (reader: Reader): Promise<string | undefined> =>
  (
    await reader.query<{ fingerprint_sha256: string }>(
      "select fingerprint_sha256 from trust_keys where purpose = 'node_ca' and state in ('grace', 'active') order by id limit 1",
    )
  ).rows[0]?.fingerprint_sha256;

export const findTrustKey = async (reader: Reader, id: string): Promise<TrustKeyRow | undefined> =>
  (await reader.query<TrustKeyRow>(`select ${KEY} from trust_keys where id = $1`, [id])).rows[0];

/** Newest first. */
export const listTrustKeys = async (
  reader: Reader,
  page: Readonly<{ before: string | null; purpose: TrustPurpose | null; limit: number }>,
): Promise<TrustKeyRow[]> =>
  (
    await reader.query<TrustKeyRow>(
      `select ${KEY} from trust_keys where ($1::text is null or id < $1) and ($2::text is null or purpose = $2)
       order by id desc limit $3`,
      [page.before, page.purpose, page.limit],
    )
  ).rows;

export type CertificateKeyRow = Readonly<
  Pick<TrustKeys, 'created_at'> &
    Pick<Material, 'fingerprint_sha256'> & {
      key_id: TrustKeys['id'];
      state: Exclude<TrustKeys['state'], 'requested' | 'staged'>;
      public_key_pem: Material['public_pem'];
    }
>;

/** Every key that ever signed wipe certificates, newest first. */
export const listCertificateKeys = async (
  reader: Reader,
  page: Readonly<{ before: string | null; limit: number }>,
): Promise<CertificateKeyRow[]> =>
  (
    await reader.query<CertificateKeyRow>(
      `select id as key_id, state, public_pem as public_key_pem, fingerprint_sha256, created_at from trust_keys
       where purpose = 'certificate_signer' and state not in ('requested', 'staged') and ($1::text is null or id < $1) order by id desc limit $2`,
      [page.before, page.limit],
    )
  ).rows;

export type NewTrustKey = Readonly<Pick<TrustKeys, 'id' | 'purpose'> & Material & { state: 'staged' | 'active' }>;

const INSERT_TRUST_KEY = statement(
  {
    id: 'text',
    purpose: 'text',
    state: 'text',
    public_pem: 'text',
    fingerprint_sha256: 'text',
    sealed_private_key: 'bytea',
  },
  `insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key)
   values (:id, :purpose, :state, :public_pem, :fingerprint_sha256, :sealed_private_key)
   on conflict (id) do update set state = excluded.state, state_since = clock_timestamp(), public_pem = excluded.public_pem,
     fingerprint_sha256 = excluded.fingerprint_sha256, sealed_private_key = excluded.sealed_private_key
   where trust_keys.state = 'requested'`,
);

/** Of a purpose that has none staged yet. */
export const requestTrustKey = async (tx: Tx, id: string, purpose: TrustPurpose): Promise<void> => {
  await tx.query("insert into trust_keys (id, purpose, state) values ($1, $2, 'requested')", [id, purpose]);
};

export const listRequestedKeys = async (
  reader: Reader,
  purposes: readonly TrustPurpose[],
): Promise<Pick<TrustKeyRow, 'id' | 'purpose'>[]> =>
  (
    await reader.query<Pick<TrustKeyRow, 'id' | 'purpose'>>(
      "select id, purpose from trust_keys where state = 'requested' and purpose = any ($1) order by id",
      [purposes],
    )
  ).rows;

/** True when a key of this purpose waits for its activation, or to be created. */
export const isKeyStaged = async (reader: Reader, purpose: TrustPurpose): Promise<boolean> =>
  (
    await reader.query("select from trust_keys where purpose = $1 and state in ('requested', 'staged') limit 1", [
      purpose,
    ])
  ).rowCount === 1;

/** A key that was requested gets its content; any other is new. */
export const insertTrustKey = async (tx: Tx, row: NewTrustKey): Promise<void> => {
  await INSERT_TRUST_KEY.query(tx, row);
};

/** True when the key was in one of the from-states and is now in the new one. */
export const moveTrustKey = async (
  tx: Tx,
  move: Readonly<{ id: string; from: readonly TrustState[]; to: TrustState; grace_s: number | null }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update trust_keys set state = $3, state_since = clock_timestamp(), version = version + 1,
         retires_at = clock_timestamp() + make_interval(secs => $4)
       where id = $1 and state = any ($2)`,
      [move.id, move.from, move.to, move.grace_s],
    )
  ).rowCount === 1;

/** Ends trust in keys past their grace period; returns how many. */
export const retireOverdueKeys = async (tx: Tx): Promise<string[]> =>
  (
    await tx.query<{ id: string }>(
      `update trust_keys set state = 'retired', state_since = clock_timestamp(), version = version + 1
       where state = 'grace' and retires_at <= clock_timestamp() and ${CLOCK_TRUSTED} returning id`,
    )
  ).rows.map((row) => row.id);
