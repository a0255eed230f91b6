/**
 * Seals the values of a retiring version again with the active one, while everything runs, and the values in the clear
 * that an earlier build left. What is left to do is in the
 * values themselves, so a crash at any point loses nothing: the next turn goes on. A version is retired when no value
 * has it and no running process seals with it. The audit row of that moment is also what the sealer signs with the new
 * key: from then on the heads file needs the old one no more.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { listHolders, listPlatformKeys, lockPlatformKeys, movePlatformKey } from '../db/platform-key.ts';
import {
  countSealed,
  lockSealedRows,
  putSealed,
  SEALED_COLUMNS,
  type SealedColumn,
  type SealedRow,
} from '../db/statements/reseal.ts';
import { PLAIN, type Secrets } from '../ports/secrets/secrets.ts';

const BATCH_ROWS = 100;
/** More values that do not open are counted, not named. */
const NAMED_MAX = 10;
/** Longer than any transaction that sealed a value before its process followed the rotation. */
const RETIRING_AT_LEAST_S = 60;

export type ResealDeps = Readonly<{ database: Database; secrets: Secrets }>;

type Unopened = Readonly<{ name: string; err: unknown }>;

const resealColumn = async (
  { database, secrets }: ResealDeps,
  column: SealedColumn,
  pass: Readonly<{ active: number; is_plain: boolean; limit: number }>,
  unopened: Unopened[],
  signal?: AbortSignal,
): Promise<number> => {
  const openRow = (row: SealedRow) => {
    try {
      const value = pass.is_plain ? row.sealed.subarray(PLAIN.length) : secrets.openBytes(row.sealed, row.bound_to);
      return { ...row, value, err: null };
    } catch (err) {
      return { ...row, value: null, err };
    }
  };
  let done = 0;
  let after: readonly unknown[] | null = null;
  while (!signal?.aborted) {
    const page: Parameters<typeof lockSealedRows>[2] = { ...pass, after };
    const rows = await database.write(PLATFORM, async (tx) => {
      const found = (await lockSealedRows(tx, column, page)).map(openRow);
      for (const { key, bound_to, value } of found)
        if (value !== null) await putSealed(tx, column, { key, sealed: secrets.seal(value, bound_to) });
      return found;
    });
    const left = rows.filter(({ value }) => value === null);
    unopened.push(...left.map(({ key, err }) => ({ name: [column.table, ...key].join(' '), err })));
    done += rows.length - left.length;
    after = rows.at(-1)?.key ?? null;
    if (rows.length < pass.limit) break;
  }
  return done;
};

const retire = ({ database, secrets: { kind } }: ResealDeps, version: number): Promise<boolean> =>
  database.write(PLATFORM, async (tx) => {
    await lockPlatformKeys(tx);
    const holders = (await listHolders(tx)).filter((one) => one.kind === kind);
    if (holders.some((one) => one.sealing_version === version)) return false;
    if ((await countSealed(tx, kind)).some((one) => one.version === version)) return false;
    const row = (await listPlatformKeys(tx, kind)).find((one) => one.version === version);
    if (row?.state !== 'retiring' || row.state_age_s < RETIRING_AT_LEAST_S) return false;
    await movePlatformKey(tx, { kind, version, to: 'retired' });
    await insertSystemAudit(tx, {
      organization_id: null,
      project_id: null,
      action: 'platform_key.retire',
      target_kind: 'platform_key',
      target_id: `${kind}/${version}`,
      policy: 'no value is sealed with it',
      correlation_id: `c-${randomUUID()}`,
      metadata: { kind, version },
    });
    return true;
  });

const reportUnopened = (unopened: readonly Unopened[]): void => {
  if (unopened.length === 0) return;
  const names = unopened.slice(0, NAMED_MAX).map(({ name }) => name);
  throw new Error(`Sealed values that do not open (${unopened.length}): ${names.join(', ')}`, {
    cause: unopened[0]?.err,
  });
};

/**
 * One turn for the ring of these secrets; how many values it sealed again. Throws in the end, when all had their turn, if any
 * did not open.
 */
export const reseal = async (deps: ResealDeps, signal?: AbortSignal, batchRows = BATCH_ROWS): Promise<number> => {
  const { database, secrets } = deps;
  const rows = await database.read(PLATFORM, (reader) => listPlatformKeys(reader, secrets.kind));
  const active = rows.find((row) => row.state === 'active');
  if (active === undefined) return 0;
  const mine = SEALED_COLUMNS.filter((one) => one.kind === secrets.kind);
  const pass = { active: active.version, limit: batchRows };
  const unopened: Unopened[] = [];
  let done = 0;
  for (const column of mine.filter((one) => one.hasPlain === true))
    done += await resealColumn(deps, column, { ...pass, is_plain: true }, unopened, signal);
  const retiring = rows.find((row) => row.state === 'retiring');
  if (retiring === undefined) return done;
  for (const column of mine) done += await resealColumn(deps, column, { ...pass, is_plain: false }, unopened, signal);
  if (!signal?.aborted) await retire(deps, retiring.version);
  reportUnopened(unopened);
  return done;
};
