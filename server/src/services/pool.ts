/**
 * Pools of nodes: shared, or dedicated to one organization. `createPool`, `updatePool` and `retirePool` are the changes, in a
 * transaction of the caller.
 */
import type { PoolSpec as PoolSpecSchema, PublicApi, RequestOf, Static } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { findOrganization } from '../db/organization.ts';
import * as db from '../db/pool.ts';
import { listPoolUses } from '../db/statements/catalog-use.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';
import { assertCurrent, assertUnused, nameTaken, retiring } from './catalog-rules.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type PoolSpec = Static<typeof PoolSpecSchema>;

/** All that an operator sets of it, as a site file states it. */
export const poolSpecOf = ({ name, purpose, organization_id }: db.PoolRow): Required<PoolSpec> => ({
  name,
  purpose,
  organization_id,
});

const view = (row: db.PoolRow) => ({
  ...row,
  kind: row.organization_id === null ? ('shared' as const) : ('dedicated' as const),
});

const found = (row: db.PoolRow | undefined): db.PoolRow => {
  if (row === undefined) throw notFound('pool');
  return row;
};

export const adminList = (ctx: ReadCtx, { query }: Req<'adminPoolList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listPools(reader, page, query.include_retired ?? false),
    (row) => row.name,
    view,
  );

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminPoolGet'>) =>
  ctx.read(async (reader) => view(found(await db.findPool(reader, params.pool_name))));

const assertOrganization = async (tx: Tx, id: string | null | undefined): Promise<void> => {
  if (typeof id !== 'string' || (await findOrganization(tx, id)) !== undefined) return;
  throw new AppError('invalid_request', `There is no organization ${id}.`, {
    errors: [{ pointer: '/body/organization_id', code: 'unknown', message: 'names no organization' }],
  });
};

export const createPool = async (tx: Tx, spec: PoolSpec): Promise<db.PoolRow> => {
  const { name, purpose = null, organization_id = null } = spec;
  await assertOrganization(tx, organization_id);
  if (!(await db.insertPool(tx, { name, purpose, organization_id }))) throw nameTaken('pool', name);
  return found(await db.findPool(tx, name));
};

/** Without a version it changes whatever is there. */
export const updatePool = async (tx: Tx, name: string, change: Omit<PoolSpec, 'name'>, ifMatch?: number) => {
  const before = found(await db.lockPool(tx, name));
  assertCurrent('pool', before, ifMatch);
  await assertOrganization(tx, change.organization_id);
  const { purpose = before.purpose, organization_id = before.organization_id } = change;
  // Whom its nodes serve is in their rows of the placement index, and their claims may be of others.
  if (organization_id !== before.organization_id && before.node_count > 0)
    throw conflict(REFUSALS.pool_has_nodes(name, before.node_count));
  if (!(await db.updatePool(tx, before.version, { name, purpose, organization_id })))
    throw resourceChanged(before.version + 1);
  return { before, after: found(await db.findPool(tx, name)) };
};

export const retirePool = async (tx: Tx, name: string): Promise<db.PoolRow> => {
  const before = found(await db.lockPool(tx, name));
  assertCurrent('pool', before);
  assertUnused('pool', name, await listPoolUses(tx, before.id));
  await retiring('pool', name, () => db.retirePool(tx, name));
  return found(await db.findPool(tx, name));
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminPoolCreate'>) => {
  const row = await createPool(ctx.tx, body);
  ctx.target('pool', row.id);
  ctx.note({ ...poolSpecOf(row), was_retired: row.version > 1 });
  return view(row);
};

export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminPoolUpdate'>) => {
  const { before, after } = await updatePool(ctx.tx, params.pool_name, body, if_match);
  ctx.note({
    purpose_before: before.purpose,
    purpose_after: after.purpose,
    organization_id_before: before.organization_id,
    organization_id_after: after.organization_id,
  });
  return view(after);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminPoolRetire'>) => {
  const row = await retirePool(ctx.tx, params.pool_name);
  ctx.note({ reason: body.reason });
  return view(row);
};
