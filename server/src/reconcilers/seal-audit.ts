/**
 * Seals audit rows after they were written and appends the chains' ends to the heads file. Two transactions on purpose:
 * a head is written only for durable seals, and heads missed by a crash are found by the next run. If the crash happens
 * between the file and its record in the database, the head is written twice, which is harmless.
 */
import {
  findSealingWork,
  getSealer,
  insertSeals,
  listChainEnds,
  listSealable,
  listUnheadedChains,
  listUnheadedChanges,
  lockSealer,
  moveChains,
  moveHeads,
  moveSealer,
} from '../db/audit-seal.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { runExclusively } from '../db/lock.ts';
import { noteCompared, readComparison } from '../db/statements/restore.ts';
import { chainOf, sealRows } from '../domain/audit-chain.ts';
import { type IdentityChange, isIdentityAction } from '../domain/identity-change.ts';
import type { HeadsFile } from '../ports/objects/heads-file.ts';
import type { IdentityFile } from '../ports/objects/identity-file.ts';
import { type FileCall, isAtWork, workOnFiles } from './file-work.ts';
import { holdRestored } from './hold-restored.ts';
import { reportLostHeads } from './watch-heads.ts';

export type SealerDeps = Readonly<{
  database: Database;
  heads: HeadsFile;
  /** Gets the changes of identities first, so that the heads never cover one that it lacks. */
  identities?: IdentityFile<IdentityChange> | undefined;
  /** How long a turn waits for a call of the heads file. */
  heads_wait_ms?: number;
}>;

const BATCH_ROWS = 500;
const HEADS_WAIT_MS = 5_000;

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

/** Before a line is appended: it would hide that the file is ahead of the database. The loss is recorded first. */
const checkHeads = async ({ database, heads, identities }: SealerDeps, call: FileCall): Promise<void> => {
  const comparison = await database.read(PLATFORM, readComparison);
  await reportLostHeads(database, heads, call);
  await call(() => holdRestored({ database, heads, identities }));
  if (comparison.is_due) await database.write(PLATFORM, (tx) => noteCompared(tx, comparison));
};

/**
 * No transaction is open while the file is written, and sealing does not wait for it: a file system may hang. The lock
 * keeps other processes away until the write has ended.
 */
const writeHeads = ({ database, heads, identities }: SealerDeps, call: FileCall): Promise<boolean> =>
  runExclusively(database, 'write_heads', async () => {
    await checkHeads({ database, heads, identities }, call);
    for (let isMore = true; isMore; ) {
      const [state, chains] = await database.read(PLATFORM, (reader) =>
        Promise.all([getSealer(reader), listUnheadedChains(reader, BATCH_ROWS)]),
      );
      if (chains.length === 0) return;
      if (identities !== undefined) {
        const changes = await database.read(PLATFORM, (reader) => listUnheadedChanges(reader, chains));
        await call(() => identities.append(changes.filter(({ action }) => isIdentityAction(action))));
      }
      const end = await call(() =>
        heads.append(
          chains.map((chain) => ({ ...chain, hash: chain.hash.toString('hex') })),
          { line: state.heads_line, hash: state.heads_hash.toString('hex') },
        ),
      );
      await database.write(PLATFORM, (tx) => moveHeads(tx, chains, end));
      isMore = chains.length === BATCH_ROWS;
    }
  });

const hung = (seconds: number): string =>
  `The heads file has not responded for ${seconds} s. Sealing continues; check its file system.`;

/**
 * Before the worker starts any work, and every two seconds after that, also where nothing is sealed: a database that was
 * restored has nothing to seal yet. Until then no host gets a task that destroys data.
 */
export const compareHeads = (deps: SealerDeps): Promise<void> =>
  workOnFiles(
    deps.heads,
    {
      wait_ms: deps.heads_wait_ms ?? HEADS_WAIT_MS,
      hung: () => 'The heads file does not respond. Check its file system.',
    },
    (call) => runExclusively(deps.database, 'write_heads', () => checkHeads(deps, call)),
  );

export const sealAudit = async (deps: SealerDeps, signal?: AbortSignal): Promise<void> => {
  const work = await deps.database.read(PLATFORM, findSealingWork);
  if (work.rows) while (!signal?.aborted && (await sealBatch(deps.database)));
  if (work.rows || work.heads || isAtWork(deps.heads))
    await workOnFiles(deps.heads, { wait_ms: deps.heads_wait_ms ?? HEADS_WAIT_MS, hung }, (call) =>
      writeHeads(deps, call),
    );
};
