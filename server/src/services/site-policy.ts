/** The policy of the site. It applies to later sign-ups and organizations; existing ones keep what they have. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import * as db from '../db/site-policy.ts';
import { resourceChanged } from '../pipeline/caller.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** In the caller's transaction. Without a version the current one is changed. */
export const changeSitePolicy = async (
  tx: Tx,
  change: Partial<db.SitePolicySettings>,
  version?: number,
): Promise<Readonly<{ before: db.SitePolicyRow; after: db.SitePolicyRow }>> => {
  const before = await db.getSitePolicy(tx);
  const { sign_up, mail_domains, default_gpu_limit, contact } = { ...before, ...change };
  const settings = { sign_up, mail_domains: [...mail_domains].sort(), default_gpu_limit, contact };
  const after = await db.updateSitePolicy(tx, version ?? before.version, settings);
  if (after === undefined) throw resourceChanged(before.version);
  return { before, after };
};

export const get = (ctx: ReadCtx) => ctx.read(db.getSitePolicy);

export const update = async (ctx: WriteCtx, { body, if_match }: Req<'adminSitePolicyUpdate'>) => {
  const { before, after } = await changeSitePolicy(ctx.tx, body, if_match);
  ctx.target('site_policy', 'site');
  ctx.note({ sign_up_before: before.sign_up, default_gpu_limit_before: before.default_gpu_limit, ...body });
  return after;
};
