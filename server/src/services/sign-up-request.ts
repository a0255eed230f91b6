/** Operators decide on people who wait under the sign-up policy `approved`. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/sign-up-request.ts';
import { getSitePolicy } from '../db/site-policy.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, notFound } from '../errors.ts';
import { admitUser } from '../identity/sign-up.ts';
import { principalOf } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'adminSignUpRequestList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listSignUpRequests(reader, { ...page, state: query.state ?? null }),
    (row) => row.id,
    (row) => row,
  );

const lock = async (ctx: WriteCtx, id: string): Promise<db.SignUpRequestRow> => {
  const row = await db.lockSignUpRequest(ctx.tx, id);
  if (row === undefined) throw notFound('sign-up request');
  return row;
};

const decide = async (
  ctx: WriteCtx,
  { id, state: from }: db.SignUpRequestRow,
  decision: Readonly<{ state: 'approved' | 'rejected'; reason: string | null }>,
): Promise<db.SignUpRequestRow> => {
  await db.decideSignUpRequest(ctx.tx, { id, from }, { ...decision, decided_by: principalOf(ctx).id });
  return lock(ctx, id);
};

export const approve = async (ctx: WriteCtx, { params, body }: Req<'adminSignUpRequestApprove'>) => {
  const row = await lock(ctx, params.sign_up_request_id);
  const { default_gpu_limit: gpu_limit } = await getSitePolicy(ctx.tx);
  const user = { id: row.user_id, name: row.name, email: row.email };
  const admitted =
    row.state === 'approved'
      ? undefined
      : await admitUser(ctx.tx, user, { has_organization: true, gpu_limit }, ctx.emit);
  if (admitted === undefined) throw conflict(REFUSALS.sign_up_decided(row.state));
  ctx.note({ user_id: row.user_id, organization_id: admitted.organization_id, gpu_limit });
  return decide(ctx, row, { state: 'approved', reason: body.reason ?? null });
};

export const reject = async (ctx: WriteCtx, { params, body }: Req<'adminSignUpRequestReject'>) => {
  const row = await lock(ctx, params.sign_up_request_id);
  if (row.state !== 'pending') throw conflict(REFUSALS.sign_up_decided(row.state));
  ctx.note({ user_id: row.user_id, reason: body.reason });
  return decide(ctx, row, { state: 'rejected', reason: body.reason });
};
