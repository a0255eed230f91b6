/**
 * Seals audit rows after they were written and appends the chains' ends to the heads file. Two transactions on purpose:
 * a head is written only for durable seals, and heads missed by a crash are found by the next run. If the crash happens
 * between the file and its record in the database, the head is written twice, which is harmless.
 */

import {
  findSealingWork,
  insertSeals,
  listChainEnds,
  listSealable,
  listUnheadedChains,
  lockSealer,
  moveChains,
  moveHeads,
  moveSealer,
} from '../db/audit-seal.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { chainOf, sealRows } from '../domain/audit-chain.ts';
import type { HeadsFile } from '../ports/objects/heads-file.ts';

export type SealerDeps = Readonly<{ database: Database; heads: HeadsFile }>;

const BATCH_ROWS = 500;

/** Seals one batch and returns whether there may be more. */
const sealBatch = (database: Database): Promise<boolean> =>
  database.write(PLATFORM, async (tx) => {
    const [state, rows] = await Promise.all([lockSealer(tx), listSealable(tx, BATCH_ROWS)]);
    if (state?.is_rewound)
      throw new Error(
        'The transaction counter of this database is behind the sealed audit position. Raise it (pg_resetwal -x) above the highest xid in audit_logs.',
      );
    const last = rows.at(-1);
    if (state === undefined || last === undefined) return false;
    const known = await listChainEnds(tx, [...new Set(rows.map(chainOf))]);
    const { seals, ends } = sealRows(rows, new Map(known.map((chain) => [chain.chain, chain])));
    await Promise.all([insertSeals(tx, seals), moveChains(tx, ends), moveSealer(tx, last)]);
    return rows.length === BATCH_ROWS;
  });

const writeHeads = (deps: SealerDeps): Promise<boolean> =>
  deps.database.write(PLATFORM, async (tx) => {
    const [state, chains] = await Promise.all([lockSealer(tx), listUnheadedChains(tx, BATCH_ROWS)]);
    if (state === undefined || chains.length === 0) return false;
    const end = await deps.heads.append(
      chains.map((chain) => ({ ...chain, hash: chain.hash.toString('hex') })),
      { line: state.heads_line, hash: state.heads_hash.toString('hex') },
    );
    await moveHeads(tx, chains, end);
    return chains.length === BATCH_ROWS;
  });

export const sealAudit = async (deps: SealerDeps, signal?: AbortSignal): Promise<void> => {
  const work = await deps.database.read(PLATFORM, findSealingWork);
  if (work.rows) while (!signal?.aborted && (await sealBatch(deps.database)));
  if (work.rows || work.heads) while (await writeHeads(deps));
};
