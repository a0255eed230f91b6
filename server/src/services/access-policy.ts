import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/access-policy.ts';
import type { Reader } from '../db/client.ts';
import { findOrganization } from '../db/organization.ts';
import { notFound } from '../errors.ts';
import { organizationOf, resourceChanged } from '../pipeline/caller.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** An organization without changes has the default policy. */
const policyOf = async (reader: Reader, organization_id: string): Promise<db.AccessPolicyRow> => {
  const [row, organization] = await Promise.all([
    db.findAccessPolicy(reader, organization_id),
    findOrganization(reader, organization_id),
  ]);
  if (organization === undefined) throw notFound('organization');
  return row ?? { organization_id, ...db.ACCESS_DEFAULTS, version: 1, updated_at: organization.created_at };
};

export const get = (ctx: ReadCtx) => ctx.read((reader) => policyOf(reader, organizationOf(ctx)));

export const update = async (ctx: WriteCtx, { body, if_match }: Req<'accessPolicyUpdate'>) => {
  const organizationId = organizationOf(ctx);
  await db.ensureAccessPolicy(ctx.tx, organizationId);
  const row = await db.updateAccessPolicy(ctx.tx, organizationId, if_match, body);
  if (row === undefined) throw resourceChanged((await policyOf(ctx.tx, organizationId)).version);
  ctx.note({ ...body });
  ctx.emit('access_policy.updated', { subject: organizationId, data: { organization_id: organizationId } });
  return row;
};
