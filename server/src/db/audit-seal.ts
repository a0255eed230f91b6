/**
 * The queries of the sealer and the verifier. The sealer locks the one row of audit_sealer, so there is one at a time;
 * it reads rows only below the oldest transaction of this database still running, so nothing can commit before sealed rows. The verifier
 * needs no snapshot: up to the ends that it read first, nothing may ever change.
 */
import type { ChainedRow, Seal, SealedRow } from '../domain/audit-chain.ts';
import type { IdentityChange } from '../domain/identity-change.ts';
import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import type { AuditChains, AuditLogs, AuditSealer } from './types.gen.ts';

/** Times to the microsecond and JSON as PostgreSQL prints it: an edit must not hide below what a driver parses. */
const CHAINED_COLUMNS = `l.id, l.xid::text as xid,
  to_char(l.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_us,
  l.organization_id, l.project_id, l.actor_kind, l.actor_id, l.actor_role, l.source_ip, l.user_agent, l.action,
  l.target_kind, l.target_id, l.result, l.error_code, l.policy, l.correlation_id, l.metadata::text as metadata_text`;

export type SealerState = Readonly<
  Pick<AuditSealer, 'sealed_xid' | 'sealed_id' | 'heads_line' | 'heads_hash' | 'lost_line'> & {
    /** The transaction counter is lower than the sealed position: the database came from another cluster's dump. */
    is_rewound: boolean;
  }
>;
const SEALER_COLUMNS = `sealed_xid::text as sealed_xid, sealed_id, heads_line, heads_hash, lost_line,
  pg_snapshot_xmax(pg_current_snapshot()) < sealed_xid as is_rewound`;

/** As two sub-selects and not a join, so that the index is entered at this position. */
const SEALED_UP_TO = '((select sealed_xid from audit_sealer), (select sealed_id from audit_sealer))';

/** Whether rows wait to be sealed or heads to be written: read without a lock, so that idling costs one read. */
export const findSealingWork = async (reader: Reader): Promise<{ rows: boolean; heads: boolean }> => {
  const { rows } = await queryByIndex<{ rows: boolean; heads: boolean }>(
    reader,
    `select exists (select from audit_logs l where (l.xid, l.id) > ${SEALED_UP_TO}
         and l.xid < (select gpuaas_settled_xid()))
         or exists (select from audit_sealer where pg_snapshot_xmax(pg_current_snapshot()) < sealed_xid) as rows,
       exists (select from audit_chains where headed_sequence < sequence) as heads`,
  );
  return rows[0] ?? { rows: false, heads: false };
};

type SealLag = Readonly<{ rows_s: number; heads_s: number }>;

/** Chains without their newest head, read for the lag: a few of them show that heads are not written. */
const LAGGING_CHAINS_READ = 100;

/** The ages of the first row that is not sealed and of the oldest seal that the heads file does not cover. */
export const sealLag = async (reader: Reader): Promise<SealLag> => {
  const { rows } = await queryByIndex<SealLag>(
    reader,
    `select coalesce((select greatest(extract(epoch from clock_timestamp() - l.created_at), 0) from audit_logs l
         where (l.xid, l.id) > ${SEALED_UP_TO} order by l.xid, l.id limit 1), 0)::float8 as rows_s,
       coalesce((select greatest(extract(epoch from clock_timestamp() - min(s.sealed_at)), 0)
         from (select chain, headed_sequence from audit_chains where headed_sequence < sequence order by chain limit $1) c
           join audit_seals s on s.chain = c.chain and s.sequence = c.headed_sequence + 1), 0)::float8 as heads_s`,
    [LAGGING_CHAINS_READ],
  );
  return rows[0] ?? { rows_s: 0, heads_s: 0 };
};

/** Undefined while another sealer works. */
export const lockSealer = async (tx: Tx): Promise<SealerState | undefined> =>
  (await tx.query<SealerState>(`select ${SEALER_COLUMNS} from audit_sealer for update skip locked`)).rows[0];

export const getSealer = async (reader: Reader): Promise<SealerState> => {
  const state = (await reader.query<SealerState>(`select ${SEALER_COLUMNS} from audit_sealer`)).rows[0];
  if (state === undefined) throw new Error('audit_sealer has no row');
  return state;
};

export const listSealable = async (tx: Tx, limit: number): Promise<ChainedRow[]> =>
  (
    await queryByIndex<ChainedRow>(
      tx,
      `select ${CHAINED_COLUMNS} from audit_logs l
       where (l.xid, l.id) > ${SEALED_UP_TO} and l.xid < (select gpuaas_settled_xid())
       order by l.xid, l.id limit $1`,
      [limit],
    )
  ).rows;

export type ChainRow = Readonly<Pick<AuditChains, 'chain' | 'sequence' | 'hash' | 'sealed_at'>>;

export const listChainEnds = async (reader: Reader, chains: readonly string[]): Promise<ChainRow[]> =>
  (
    await reader.query<ChainRow>(
      'select chain, sequence, hash, sealed_at from audit_chains where chain = any($1::text[])',
      [chains],
    )
  ).rows;

export const insertSeals = async (tx: Tx, seals: readonly Seal[]): Promise<void> => {
  await tx.query(
    `insert into audit_seals (chain, sequence, audit_log_id, hash)
     select * from unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[])`,
    [
      seals.map((seal) => seal.chain),
      seals.map((seal) => seal.sequence),
      seals.map((seal) => seal.audit_log_id),
      seals.map((seal) => seal.hash),
    ],
  );
};

export const moveChains = async (
  tx: Tx,
  ends: ReadonlyMap<string, Readonly<{ sequence: number; hash: Buffer }>>,
): Promise<void> => {
  await tx.query(
    `insert into audit_chains (chain, sequence, hash)
     select * from unnest($1::text[], $2::bigint[], $3::bytea[])
     on conflict (chain) do update
       set sequence = excluded.sequence, hash = excluded.hash, sealed_at = excluded.sealed_at`,
    [[...ends.keys()], [...ends.values()].map((end) => end.sequence), [...ends.values()].map((end) => end.hash)],
  );
};

export const moveSealer = async (tx: Tx, to: Readonly<{ xid: string; id: string }>): Promise<void> => {
  await tx.query('update audit_sealer set sealed_xid = $1::xid8, sealed_id = $2', [to.xid, to.id]);
};

export type UnheadedChain = ChainRow & Readonly<{ headed_sequence: number }>;

export const listUnheadedChains = async (reader: Reader, limit: number): Promise<UnheadedChain[]> =>
  (
    await reader.query<UnheadedChain>(
      `select chain, sequence, hash, sealed_at, headed_sequence from audit_chains where headed_sequence < sequence
       order by chain limit $1`,
      [limit],
    )
  ).rows;

/** Of these chains, the successful changes that the heads file does not cover yet. */
export const listUnheadedChanges = async (
  reader: Reader,
  chains: readonly UnheadedChain[],
): Promise<IdentityChange[]> =>
  (
    await queryByIndex<IdentityChange>(
      reader,
      `select s.chain, s.sequence, l.created_at as at, l.action, l.target_kind, l.target_id, l.actor_id, l.organization_id
       from unnest($1::text[], $2::bigint[], $3::bigint[]) as w (chain, after, upto)
         join audit_seals s on s.chain = w.chain and s.sequence > w.after and s.sequence <= w.upto
         join audit_logs l on l.id = s.audit_log_id
       where l.result = 'success' order by s.chain, s.sequence`,
      [
        chains.map(({ chain }) => chain),
        chains.map(({ headed_sequence }) => headed_sequence),
        chains.map(({ sequence }) => sequence),
      ],
    )
  ).rows;

export const moveHeads = async (
  tx: Tx,
  written: readonly ChainRow[],
  end: Readonly<{ line: number; hash: string }>,
): Promise<void> => {
  await Promise.all([
    tx.query(
      `update audit_chains c set headed_sequence = w.sequence
       from unnest($1::text[], $2::bigint[]) as w (chain, sequence) where c.chain = w.chain`,
      [written.map((chain) => chain.chain), written.map((chain) => chain.sequence)],
    ),
    moveHeadsEnd(tx, end),
  ]);
};

export type LostHead = Readonly<{ chain: string; rows: number }>;

/** Of these heads, those whose seal is not in the database, with how many rows it has not: at most, where it has others there. */
export const listLostHeads = async (
  reader: Reader,
  heads: readonly Readonly<{ chain: string; sequence: number; hash: string }>[],
): Promise<LostHead[]> =>
  (
    await queryByIndex<LostHead>(
      reader,
      `select h.chain, h.sequence - case when c.sequence < h.sequence then c.sequence else coalesce(c.headed_sequence, 0) end as rows
       from unnest($1::text[], $2::bigint[], $3::text[]) as h (chain, sequence, hash)
         left join audit_chains c on c.chain = h.chain
         left join audit_seals s on s.chain = h.chain and s.sequence = h.sequence and s.hash = decode(h.hash, 'hex')
       where s.chain is null order by h.chain`,
      [heads.map(({ chain }) => chain), heads.map(({ sequence }) => sequence), heads.map(({ hash }) => hash)],
    )
  ).rows;

/** An operator has begun a restore since, which ends what the lost changes had ended. The automatic hold of nodes ends nothing. */
const LOSS_IS_OVER =
  "(lost_at is null or exists (select from restores r where r.began_at >= lost_at and r.older_than > 'epoch'))";

/** False when the loss up to this line of the heads file is recorded. */
export const recordLostRows = async (tx: Tx, rows: number, line: number): Promise<boolean> =>
  (
    await tx.query(
      `update audit_sealer set lost_rows = $1 + case when ${LOSS_IS_OVER} then 0 else lost_rows end, lost_line = $2,
         lost_at = clock_timestamp() where lost_line < $2`,
      [rows, line],
    )
  ).rowCount === 1;

/** Audit rows that signed heads cover and the database lost, until a restore is begun. */
export const countLostRows = async (reader: Reader): Promise<number> =>
  (
    await reader.query<{ rows: number }>(
      `select case when ${LOSS_IS_OVER} then 0 else lost_rows end as rows from audit_sealer`,
    )
  ).rows[0]?.rows ?? 0;

/** The file ends there, whatever its last lines say of the chains. */
export const moveHeadsEnd = async (tx: Tx, end: Readonly<{ line: number; hash: string }>): Promise<void> => {
  await tx.query("update audit_sealer set heads_line = $1, heads_hash = decode($2, 'hex')", [end.line, end.hash]);
};

export type ChainBound = Readonly<{
  chain: string;
  sequence: number;
  recorded_sequence: number;
  recorded_hash: string;
}>;

/** Every chain: where its seals end and where its own record says it ends. Hops from chain to chain by the index. */
export const listChainBounds = async (reader: Reader): Promise<ChainBound[]> =>
  (
    await queryByIndex<ChainBound>(
      reader,
      `with recursive hop as (
         (select chain from audit_seals order by chain limit 1)
         union all
         select (select s.chain from audit_seals s where s.chain > hop.chain order by s.chain limit 1)
         from hop where hop.chain is not null
       ), sealed as (
         select chain, (select max(s.sequence) from audit_seals s where s.chain = hop.chain) as sequence
         from hop where chain is not null
       )
       select chain, coalesce(s.sequence, (select max(e.last_sequence) from audit_segments e where e.chain = c.chain
           and e.removed_at is not null), 0) as sequence, coalesce(c.sequence, 0) as recorded_sequence,
         coalesce(encode(c.hash, 'hex'), '') as recorded_hash
       from sealed s full join audit_chains c using (chain)`,
    )
  ).rows;

type SealWithRow = { [K in keyof ChainedRow]: ChainedRow[K] | null } & Readonly<{
  seal_chain: string;
  sequence: number;
  audit_log_id: string;
  seal_hash: Buffer;
}>;

/** Seals in the order of chain and sequence, each with its row, after the given one. */
export const listSealedRows = async (
  reader: Reader,
  after: Readonly<{ chain: string; sequence: number }>,
  only: string | null,
  limit: number,
): Promise<SealedRow[]> => {
  const { rows } = await queryByIndex<SealWithRow>(
    reader,
    `select s.chain as seal_chain, s.sequence, s.audit_log_id, s.hash as seal_hash, ${CHAINED_COLUMNS}
     from (select * from audit_seals where (chain, sequence) > ($1, $2) ${only === null ? '' : 'and chain = $4'}
           order by chain, sequence limit $3) s
     left join audit_logs l on l.id = s.audit_log_id order by s.chain, s.sequence`,
    [after.chain, after.sequence, limit, ...(only === null ? [] : [only])],
  );
  return rows.map(({ seal_chain: chain, sequence, audit_log_id, seal_hash: hash, ...row }) => ({
    chain,
    sequence,
    audit_log_id,
    hash,
    row: row.id === null ? null : (row as ChainedRow),
  }));
};

export type UnsealedRow = Readonly<Pick<AuditLogs, 'id' | 'xid' | 'organization_id'>>;

/**
 * Reads the next `limit` audit rows by id; `last` is null when these were all. Rows added meanwhile must not extend the
 * scan, so a page that is not full is the last one.
 */
export const listUnsealed = async (
  reader: Reader,
  afterId: string,
  limit: number,
): Promise<{ last: string | null; rows: readonly UnsealedRow[] }> => {
  const { rows } = await queryByIndex<{ last: string | null; rows: readonly UnsealedRow[] }>(
    reader,
    `with page as (select id, xid, organization_id from audit_logs where id > $1 order by id limit $2)
     select case when count(*) = $2 then max(p.id) end as last,
       coalesce(json_agg(json_build_object('id', p.id, 'xid', p.xid::text, 'organization_id', p.organization_id)
         order by p.id) filter (where s.audit_log_id is null), '[]') as rows
     from page p left join audit_seals s on s.audit_log_id = p.id`,
    [afterId, limit],
  );
  return rows[0] ?? { last: null, rows: [] };
};
