import { type PublicApi, type RequestOf, roleRefusal } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { deleteGroupAccessBlock, putGroupAccessBlock } from '../db/group-access-block.ts';
import * as db from '../db/project.ts';
import { NOTHING_CLAIMED, type ProjectHoldings, projectDeleteRefusal } from '../domain/project-actions.ts';
import { action } from '../domain/refusal.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { revokeLostKeysOf } from '../identity/lost-access.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { refuse } from '../pipeline/actions.ts';
import { callerHolds, onlyText, organizationOf, principalOf, projectOf, resourceChanged } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { decodeCursor, listPage, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const view = (ctx: Ctx, row: db.ProjectRow, holdings: ProjectHoldings) => {
  const may = (permission: 'project.update' | 'project.delete', reason: string | null) =>
    callerHolds(ctx, permission, row.organization_id, row.id) ? reason : roleRefusal(permission);
  const kept = projectDeleteRefusal(holdings)?.reason ?? null;
  return {
    ...row,
    actions: [action('update', may('project.update', null)), action('delete', may('project.delete', kept))],
  };
};

const holdingsOf = async (reader: Reader, id: string): Promise<ProjectHoldings> =>
  (await db.listProjectHoldings(reader, [id]))[0] ?? NOTHING_CLAIMED;

export const list = async (ctx: ReadCtx, { query }: Req<'projectList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const organizationId = organizationOf(ctx);
  const seesAll = callerHolds(ctx, 'project.read', organizationId, null);
  const filter = { after, limit: limit + 1, name: query.name ?? null, member_id: seesAll ? null : principalOf(ctx).id };
  return ctx.read(async (reader) => {
    const rows = await db.listProjects(reader, organizationId, filter);
    const held = await db.listProjectHoldings(
      reader,
      rows.map(({ id }) => id),
    );
    const byId = new Map(held.map((one) => [one.id, one]));
    return pageOf(
      ctx,
      limit,
      rows,
      (row) => [row.id],
      (row) => view(ctx, row, byId.get(row.id) ?? NOTHING_CLAIMED),
    );
  });
};

export const create = async (ctx: WriteCtx, { body }: Req<'projectCreate'>) => {
  const id = mintId('prj');
  await assertBelowLimit(ctx, 'projects', organizationOf(ctx));
  try {
    const inserted = await db.insertProject(ctx.tx, {
      id,
      organization_id: organizationOf(ctx),
      name: body.name,
      display_name: body.display_name ?? body.name,
    });
    const row = inserted.rows[0];
    if (row === undefined) throw new AppError('internal', 'The project was not created.');
    ctx.emit('project.created', { subject: id, project_id: id, data: { project_id: id, name: body.name } });
    return view(ctx, row, NOTHING_CLAIMED);
  } catch (err) {
    if (isUniqueViolation(err, 'projects_name'))
      throw new AppError('already_exists', REFUSALS.project_name_taken(body.name));
    throw err;
  }
};

export const get = (ctx: ReadCtx) =>
  ctx.read(async (reader) => {
    const found = await db.findHeldProject(reader, projectOf(ctx));
    if (found === undefined) throw notFound('project');
    const { service_accounts, allocations, ...row } = found;
    return view(ctx, row, { service_accounts, allocations });
  });

export const update = async (ctx: WriteCtx, req: Req<'projectUpdate'>) => {
  const id = projectOf(ctx);
  const row = await db.updateProject(ctx.tx, id, req.if_match, req.body);
  if (row === undefined) {
    const current = await db.findProject(ctx.tx, id);
    throw current === undefined ? notFound('project') : resourceChanged(current.version);
  }
  ctx.note({ ...req.body });
  ctx.emit('project.updated', { subject: id, data: { project_id: id, name: row.name } });
  return view(ctx, row, await holdingsOf(ctx.tx, id));
};

export const remove = async (ctx: WriteCtx): Promise<undefined> => {
  const id = projectOf(ctx);
  const row = await db.lockProject(ctx.tx, id);
  if (row === undefined) throw notFound('project');
  // The lock waits for launches that hold the project, so their claims are counted; later ones find it deleted.
  refuse(projectDeleteRefusal(await holdingsOf(ctx.tx, id)));
  await db.markProjectDeleted(ctx.tx, id);
  ctx.emit('project.deleted', { subject: id, data: { project_id: id, name: row.name } });
};

export const memberList = (ctx: ReadCtx, { query }: Req<'projectMemberList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listProjectMembers(reader, projectOf(ctx), page),
    (row) => row.user_id,
    (row) => row,
  );

export const memberPut = async (ctx: WriteCtx, req: Req<'projectMemberPut'>) => {
  const project_id = projectOf(ctx);
  const { user_id } = req.params;
  const { role } = req.body;
  if (!(await db.holdProject(ctx.tx, project_id))) throw notFound('project');
  await assertStillAllowed(ctx, 'project.member.update');
  const row = await db.putProjectMember(ctx.tx, { project_id, organization_id: organizationOf(ctx), user_id, role });
  if (row === undefined && (await db.findProjectMember(ctx.tx, project_id, user_id)) !== undefined)
    throw conflict(REFUSALS.membership_by_group);
  if (row === undefined) throw notFound('member of the organization');
  await deleteGroupAccessBlock(ctx.tx, { organization_id: organizationOf(ctx), project_id, user_id });
  ctx.note({ role });
  ctx.emit('project.member.changed', { subject: user_id, data: { project_id, user_id, role } });
  return row;
};

export const memberRemove = async (ctx: WriteCtx, req: Req<'projectMemberRemove'>): Promise<undefined> => {
  const project_id = projectOf(ctx);
  const { user_id } = req.params;
  const member = await db.findProjectMember(ctx.tx, project_id, user_id);
  if (member === undefined || !(await db.deleteProjectMember(ctx.tx, project_id, user_id))) throw notFound('member');
  if (member.source === 'group')
    await putGroupAccessBlock(ctx.tx, { organization_id: organizationOf(ctx), project_id, user_id });
  ctx.note({ source: member.source });
  ctx.emit('project.member.removed', { subject: user_id, data: { project_id, user_id } });
  await revokeLostKeysOf(ctx, user_id);
};
