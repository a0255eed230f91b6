/** Group mappings, and the synchronization of memberships with the groups that users had at their last sign-in. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import * as db from '../db/group-mapping.ts';
import { findOrganization } from '../db/organization.ts';
import { findProjectOrganization } from '../db/principal.ts';
import type { AccessChange, GroupRole } from '../domain/group-access.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';
import { followGroups, type GroupActor } from '../identity/group-access.ts';
import { principalOf } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const USERS_PER_PAGE = 500;

const view = ({ group_name, project_id, ...row }: db.GroupMappingRow) => ({
  ...row,
  group: group_name,
  project_id: project_id === '' ? null : project_id,
});

export const list = (ctx: ReadCtx, { query }: Req<'adminGroupMappingList'>) =>
  listPage(ctx, query, db.listGroupMappings, (row) => row.id, view);

type Wanted = Readonly<{ group: string; organization_id: string; project_id: string | null; role: GroupRole }>;

/** In the caller's transaction, in the platform scope. */
export const createGroupMapping = async (
  tx: Tx,
  { group, organization_id, project_id, role }: Wanted,
): Promise<db.GroupMappingRow> => {
  if ((await findOrganization(tx, organization_id)) === undefined) throw notFound('organization');
  if (project_id !== null && (await findProjectOrganization(tx, project_id)) !== organization_id)
    throw notFound('project');
  const id = mintId('grm');
  const row = { id, group_name: group, organization_id, project_id: project_id ?? '', role };
  if (!(await db.insertGroupMapping(tx, row))) throw new AppError('already_exists', REFUSALS.group_mapping_exists);
  const made = await db.findGroupMapping(tx, id);
  if (made === undefined) throw new AppError('internal', 'The mapping was not created.');
  return made;
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminGroupMappingCreate'>) => {
  const row = await createGroupMapping(ctx.tx, { ...body, project_id: body.project_id ?? null });
  ctx.note({ ...body });
  return view(row);
};

export const remove = async (ctx: WriteCtx, { params }: Req<'adminGroupMappingDelete'>): Promise<undefined> => {
  const row = await db.findGroupMapping(ctx.tx, params.group_mapping_id);
  if (row === undefined || !(await db.deleteGroupMapping(ctx.tx, row.id))) throw notFound('group mapping');
  const { group_name: group, organization_id, project_id, role } = row;
  ctx.note({ group, organization_id, project_id: project_id === '' ? null : project_id, role });
};

export const sync = async (ctx: WriteCtx) => {
  const { source_ip, user_agent, correlation_id } = ctx;
  const actor: GroupActor = {
    ...{ source_ip, user_agent, correlation_id },
    ...{ actor_kind: 'user', actor_id: principalOf(ctx).id, actor_role: null },
  };
  const changes: AccessChange[] = [];
  let users_checked = 0;
  for (let after = ''; ; ) {
    const users = await db.listUsersOfGroups(ctx.tx, { after, limit: USERS_PER_PAGE });
    for (const user of users) changes.push(...(await followGroups(ctx.tx, user, actor, ctx.emit)));
    users_checked += users.length;
    after = users.at(-1)?.id ?? '';
    if (users.length < USERS_PER_PAGE) break;
  }
  const count = (kind: AccessChange['kind']): number => changes.filter((change) => change.kind === kind).length;
  const done = {
    users_checked,
    memberships_granted: count('grant'),
    memberships_changed: count('change'),
    memberships_removed: count('remove'),
  };
  ctx.note(done);
  ctx.target('group_mapping', 'all');
  return done;
};
