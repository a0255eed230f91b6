/**
 * Recomputes the chains of wipe proofs and compares them with the audit rows written with them. It reads in pages, so
 * its memory does not grow with the history. Proofs may be added while it runs: they come with their audit row and at
 * the end of their chain, so nothing already read changes.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { findSlot } from '../db/slot.ts';
import { listChainedProofs, listMissingProofs, listSlotProofs } from '../db/wipe-proof.ts';
import { checkProofs, missingProof, PROOF_FINDINGS_MAX, type ProofFinding } from '../domain/wipe-chain.ts';
import { notFound } from '../errors.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const PAGE_ROWS = 500;

export type ProofReport = { intact: boolean; proofs: number; chains: number; findings: ProofFinding[] };

export const verifyProofs = async (database: Database): Promise<ProofReport> => {
  const check = checkProofs();
  for (let after = { target_id: '', sequence: 0 }; ; ) {
    const page = await database.read(PLATFORM, (reader) => listChainedProofs(reader, after, PAGE_ROWS));
    check.take(page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) break;
    after = { target_id: last.target_id, sequence: last.sequence };
  }
  const { proofs, chains, findings } = check.finish();
  const gone: ProofFinding[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const from: string = after;
    const page = await database.read(PLATFORM, (reader) => listMissingProofs(reader, from, PAGE_ROWS));
    gone.push(...page.missing.map((one) => missingProof(one.wipe_proof_id, one)));
    after = page.last;
  }
  const all = [...findings, ...gone].slice(0, PROOF_FINDINGS_MAX);
  return { intact: all.length === 0, proofs, chains, findings: all };
};

export const verify = async (ctx: ReadCtx, _: Req<'adminWipeProofVerify'>) => ({
  ...(await verifyProofs(ctx.deps.database)),
  checked_at: ctx.deps.clock.now().toISOString(),
});

/** The proofs of a slot, newest first. */
export const slotProofList = async (ctx: ReadCtx, { params, query }: Req<'adminNodeSlotProofList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const [before = null] = decodeCursor(ctx, query.cursor) ?? [];
  if (typeof before === 'string') throw malformedCursor();
  const rows = await ctx.read(async (reader) => {
    if ((await findSlot(reader, params.node_id, params.slot_id)) === undefined) throw notFound('slot');
    return listSlotProofs(reader, params.slot_id, { before, limit: limit + 1 });
  });
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.sequence],
    (row) => row,
  );
};
