/**
 * Operator actions on the keys of the agent channel. A key is staged, then active, then in grace, then retired; it may
 * be revoked at any time except while it signs. Nothing is signed with a key before agents had time to learn it, and
 * the previous one stays trusted for as long as something it signed may still be used. An agent that did not learn it
 * in that time is counted and not waited for: it can use the previous key until the end of its grace period.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { bundleOf } from '../agents/trust.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { countNodesWithoutKey } from '../db/node-agent.ts';
import * as db from '../db/trust-key.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, notFound } from '../errors.ts';
import { onlyText, resourceChanged } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** Agents learn it within seconds, and poll at least every fifteen. */
const STAGED_AT_LEAST_MS = 30_000;
/**
 * Longer than a node's certificate lives; longer than a task waits to be verified. A wipe certificate may be shown
 * indefinitely, so its key stays published, also after its grace period.
 */
const GRACE_S = { node_ca: 48 * 3600, task_signer: 3600, certificate_signer: 3600 } as const;

const getKey = async (reader: Reader, id: string): Promise<db.TrustKeyRow> => {
  const row = await db.findTrustKey(reader, id);
  if (row === undefined) throw notFound('trust key');
  return row;
};

export const list = async (ctx: ReadCtx, { query }: Req<'adminTrustKeyList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.read((reader) =>
    db.listTrustKeys(reader, { before, purpose: query.purpose ?? null, limit: limit + 1 }),
  );
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.id],
    (row) => row,
  );
};

export const get = (ctx: ReadCtx, { params }: Req<'adminTrustKeyGet'>) =>
  ctx.read((reader) => getKey(reader, params.trust_key_id));

export const create = async (ctx: WriteCtx, { body }: Req<'adminTrustKeyCreate'>) => {
  await db.lockTrust(ctx.tx);
  if (await db.isKeyStaged(ctx.tx, body.purpose)) throw conflict(REFUSALS.key_staged);
  const id = mintId('tky');
  await db.requestTrustKey(ctx.tx, id, body.purpose);
  ctx.note({ purpose: body.purpose, reason: body.reason });
  return getKey(ctx.tx, id);
};

/** The key, locked against other changes, at the version that the operator saw. */
const lockKey = async (
  ctx: WriteCtx,
  req: Readonly<{ params: Readonly<{ trust_key_id: string }>; if_match: number }>,
): Promise<db.TrustKeyRow> => {
  await db.lockTrust(ctx.tx);
  const row = await getKey(ctx.tx, req.params.trust_key_id);
  if (row.version !== req.if_match) throw resourceChanged(row.version);
  return row;
};

export const activate = async (ctx: WriteCtx, req: Req<'adminTrustKeyActivate'>) => {
  const key = await lockKey(ctx, req);
  if (key.state !== 'staged') throw conflict(REFUSALS.key_not_staged(key.state));
  const waitMs = Date.parse(key.state_since) + STAGED_AT_LEAST_MS - ctx.deps.clock.now().getTime();
  if (waitMs > 0)
    throw conflict(`Agents are still receiving this key. Activate it in ${Math.ceil(waitMs / 1000)} seconds.`);
  const { version } = bundleOf(await db.listTrusted(ctx.tx));
  // Agents do not use wipe certificates.
  const nodes_without_key = key.purpose === 'certificate_signer' ? 0 : await countNodesWithoutKey(ctx.tx, version);
  const before = await db.findActiveKeyId(ctx.tx, key.purpose);
  if (before !== undefined)
    await db.moveTrustKey(ctx.tx, { id: before, from: ['active'], to: 'grace', grace_s: GRACE_S[key.purpose] });
  await db.moveTrustKey(ctx.tx, { id: key.id, from: ['staged'], to: 'active', grace_s: null });
  ctx.note({ purpose: key.purpose, before, nodes_without_key, reason: req.body.reason });
  return { ...(await getKey(ctx.tx, key.id)), nodes_without_key };
};

export const retire = async (ctx: WriteCtx, req: Req<'adminTrustKeyRetire'>) => {
  const key = await lockKey(ctx, req);
  if (!(await db.moveTrustKey(ctx.tx, { id: key.id, from: ['grace', 'staged'], to: 'retired', grace_s: null })))
    throw conflict(REFUSALS.key_not_retirable(key.state));
  ctx.note({ purpose: key.purpose, state_before: key.state, reason: req.body.reason });
  return getKey(ctx.tx, key.id);
};

export const revoke = async (ctx: WriteCtx, req: Req<'adminTrustKeyRevoke'>) => {
  const key = await lockKey(ctx, req);
  const from = ['staged', 'grace', 'retired'] as const;
  if (!(await db.moveTrustKey(ctx.tx, { id: key.id, from, to: 'revoked', grace_s: null })))
    throw conflict(key.state === 'active' ? REFUSALS.key_active : REFUSALS.key_not_revocable(key.state));
  ctx.note({ purpose: key.purpose, state_before: key.state, reason: req.body.reason });
  return getKey(ctx.tx, key.id);
};
