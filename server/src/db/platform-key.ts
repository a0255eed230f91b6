/**
 * Versions of the keys outside the database, the processes that hold them, and the secrets that other keys are derived
 * from. The lock serializes starts and rotations, so no process starts without a sealing version.
 */
import type { Reader, Tx } from './client.ts';
import { LOCKS } from './lock.ts';
import type { PlatformKeyHolders, PlatformKeys } from './types.gen.ts';

export type KeyKind = PlatformKeys['kind'];
export type PlatformKeyRow = Readonly<PlatformKeys & { state_age_s: number }>;

/** A process that was not seen for this long has ended. */
const HOLDER_LIVES_S = 60;
const LIVE = `h.seen_at > clock_timestamp() - interval '${HOLDER_LIVES_S} seconds'`;

export const lockPlatformKeys = async (tx: Tx): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCKS.platform_keys]);
};

export const listPlatformKeys = async (reader: Reader, kind?: KeyKind): Promise<PlatformKeyRow[]> =>
  (
    await reader.query<PlatformKeyRow>(
      `select kind, version, state, state_since, check_value, created_at,
         extract(epoch from clock_timestamp() - state_since)::float8 as state_age_s from platform_keys
       where $1::text is null or kind = $1 order by kind, version desc`,
      [kind ?? null],
    )
  ).rows;

export const insertPlatformKey = async (
  tx: Tx,
  key: Readonly<Pick<PlatformKeys, 'kind' | 'version' | 'state' | 'check_value'>>,
): Promise<void> => {
  await tx.query('insert into platform_keys (kind, version, state, check_value) values ($1, $2, $3, $4)', [
    key.kind,
    key.version,
    key.state,
    key.check_value,
  ]);
};

export const movePlatformKey = async (
  tx: Tx,
  key: Readonly<{ kind: KeyKind; version: number; to: PlatformKeys['state'] }>,
): Promise<void> => {
  await tx.query(
    'update platform_keys set state = $3, state_since = clock_timestamp() where kind = $1 and version = $2',
    [key.kind, key.version, key.to],
  );
};

export type HolderRow = Readonly<Pick<PlatformKeyHolders, 'kind' | 'service' | 'versions' | 'sealing_version'>>;

/** Of processes that run now. */
export const listHolders = async (reader: Reader): Promise<HolderRow[]> =>
  (
    await reader.query<HolderRow>(
      `select h.kind, h.service, h.versions, h.sealing_version from platform_key_holders h where ${LIVE} order by h.service`,
    )
  ).rows;

export const putHolder = async (
  tx: Tx,
  holder: Readonly<Pick<PlatformKeyHolders, 'process_id' | 'kind' | 'service' | 'versions' | 'sealing_version'>>,
): Promise<void> => {
  await tx.query(
    `insert into platform_key_holders (process_id, kind, service, versions, sealing_version) values ($1, $2, $3, $4, $5)
     on conflict (process_id, kind) do update set sealing_version = excluded.sealing_version, seen_at = clock_timestamp()`,
    [holder.process_id, holder.kind, holder.service, holder.versions, holder.sealing_version],
  );
};

export const deleteHolder = async (tx: Tx, processId: string): Promise<void> => {
  await tx.query('delete from platform_key_holders where process_id = $1', [processId]);
};

/** Of processes that ended without reporting it. */
export const deleteEndedHolders = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `delete from platform_key_holders where (process_id, kind) in (
         select h.process_id, h.kind from platform_key_holders h where h.seen_at < clock_timestamp() - interval '1 day' limit $1)`,
      [limit],
    )
  ).rowCount;

export const findPlatformSecret = async (reader: Reader, name: string): Promise<Buffer | undefined> =>
  (await reader.query<{ sealed_secret: Buffer }>('select sealed_secret from platform_secrets where name = $1', [name]))
    .rows[0]?.sealed_secret;

export const insertPlatformSecret = async (tx: Tx, name: string, sealedSecret: Buffer): Promise<void> => {
  await tx.query('insert into platform_secrets (name, sealed_secret) values ($1, $2)', [name, sealedSecret]);
};
