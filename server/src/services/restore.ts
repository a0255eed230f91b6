/**
 * The database was restored from a backup. Its credentials may have been revoked since, and its hosts may hold data of
 * later tenants. Begin ends the credentials and holds every task that destroys data; each node is released by an operator
 * after its host reported what is on it.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { getSealer, listChainBounds } from '../db/audit-seal.ts';
import type { Reader } from '../db/client.ts';
import { lockSummary } from '../db/placement.ts';
import { findNewestRestore, type LostChanges, listHeldNodes } from '../db/restore.ts';
import { beginRestore, releaseRestoreHold } from '../db/statements/restore.ts';
import { PLATFORM_CHAIN } from '../domain/audit-chain.ts';
import { readHeads } from '../domain/audit-heads.ts';
import { type IdentityChange, lostIdentityChanges } from '../domain/identity-change.ts';
import { IDENTITY_CHANGES_MAX, releaseRefusal } from '../domain/restore.ts';
import { AppError } from '../errors.ts';
import { refuse } from '../pipeline/actions.ts';
import { callerId } from '../pipeline/caller.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createIdentityFile, identityFileOf } from '../ports/objects/identity-file.ts';
import { getNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const view = async (reader: Reader) => ({
  restore: (await findNewestRestore(reader)) ?? null,
  held_nodes: await listHeldNodes(reader),
});

export const get = (ctx: ReadCtx) => ctx.read(view);

/** The signed heads are outside the database: they record the length of the chains, and nothing of their content. */
const findLostChanges = async (ctx: WriteCtx) => {
  const { config, secrets } = ctx.deps;
  const recorded = await getSealer(ctx.tx);
  const file = createHeadsFile({
    file: config.audit_heads_file,
    seeds: () => secrets.deriveByVersion('audit-heads', 32),
  });
  const { heads } = await readHeads(() => file.lines(), {
    line: recorded.heads_line,
    hash: recorded.heads_hash.toString('hex'),
  });
  const sealed = new Map((await listChainBounds(ctx.tx)).map(({ chain, sequence }) => [chain, sequence]));
  const lost_changes = [...heads].flatMap(([chain, known]): LostChanges[] => {
    const audit_rows = (known.at(-1)?.sequence ?? 0) - (sealed.get(chain) ?? 0);
    return audit_rows > 0 ? [{ organization_id: chain === PLATFORM_CHAIN ? null : chain, audit_rows }] : [];
  });
  const written = await createIdentityFile<IdentityChange>(identityFileOf(config.audit_heads_file)).read();
  const identity_changes = lostIdentityChanges(written, sealed)
    .slice(-IDENTITY_CHANGES_MAX)
    .map(({ chain: _, sequence: __, ...change }) => change);
  return { lost_changes, identity_changes };
};

export const begin = async (ctx: WriteCtx, { body }: Req<'adminRestoreBegin'>) => {
  const older_than = body.older_than ?? null;
  if (older_than !== null && Date.parse(older_than) > ctx.deps.clock.now().getTime())
    throw new AppError('invalid_request', 'The time is in the future.', {
      errors: [{ pointer: '/body/older_than', code: 'future', message: 'must not be in the future' }],
    });
  const id = mintId(ID_PREFIXES.restore);
  const ended = await beginRestore(ctx.tx, {
    id,
    began_by: callerId(ctx),
    reason: body.reason,
    older_than,
    ...(await findLostChanges(ctx)),
    ends_certificates: body.ends_certificates ?? false,
    correlation_id: ctx.correlation_id,
  });
  ctx.target('restore', id);
  ctx.note({ older_than, ended, reason: body.reason });
  return view(ctx.tx);
};

export const release = async (ctx: WriteCtx, { params, body }: Req<'adminNodeRestoreRelease'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await lockSummary(ctx.tx, node.id);
  const held = (await listHeldNodes(ctx.tx)).find(({ node_id }) => node_id === node.id);
  const accepts_findings = body.accepts_findings ?? false;
  if (!refuse(releaseRefusal(held, { accepts_findings }))) {
    await releaseRestoreHold(ctx.tx, node.id);
    ctx.tx.wake();
  }
  ctx.target('node', node.id);
  ctx.note({ accepts_findings, findings: held?.findings ?? 0, reason: body.reason });
  return view(ctx.tx);
};
