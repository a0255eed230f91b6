/**
 * Operator actions on agents: add a host, enroll its agent, inspect it, lock it out, update it. A token is shown once,
 * and one per node is open at a time.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../db/errors.ts';
import { insertNode, setPrivateNetwork } from '../db/node.ts';
import { findAgent } from '../db/node-agent.ts';
import { listCertificates, lockCertificates, revokeCertificates, revokeEnrollments } from '../db/node-certificate.ts';
import { insertTask } from '../db/node-task.ts';
import { ensureSharedPool, type NodePool, shareLivePool } from '../db/pool.ts';
import { isRegion } from '../db/region.ts';
import { findNodeTask, findOpenTask, listNodeTasks } from '../db/task-view.ts';
import { isNetwork } from '../domain/private-network.ts';
import { FIELD_MESSAGES, REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { onlyText } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, nodeView, refuseNode } from '../views/node.ts';
import { createEnrollment } from './enrollment.ts';
import { nameHost } from './node-host.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const CERTIFICATES_SHOWN = 20;
const SHARED = 'shared';

const unknownName = (field: string, noun: string, name: string): AppError =>
  new AppError('invalid_request', `There is no ${noun} named "${name}".`, {
    errors: [{ pointer: `/body/${field}`, code: 'unknown', message: `names no ${noun}` }],
  });

export const poolFor = async (tx: Tx, name: string): Promise<NodePool> => {
  if (name === SHARED) await ensureSharedPool(tx);
  const pool = await shareLivePool(tx, name);
  if (pool === undefined) throw unknownName('pool_name', 'pool', name);
  return pool;
};

const assertNetwork = (network: string): void => {
  if (isNetwork(network)) return;
  throw new AppError('invalid_request', REFUSALS.not_a_network(network), {
    errors: [{ pointer: '/body/private_network', code: 'network', message: FIELD_MESSAGES.network_not_first }],
  });
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminNodeCreate'>) => {
  const { private_network } = body;
  if (private_network !== undefined) assertNetwork(private_network);
  if (!(await isRegion(ctx.tx, body.region_name))) throw unknownName('region_name', 'region', body.region_name);
  const { id: pool_id } = await poolFor(ctx.tx, body.pool_name ?? SHARED);
  const id = mintId('nod');
  try {
    await insertNode(ctx.tx, {
      id,
      name: body.name,
      region_name: body.region_name,
      pool_id,
      gpu_model: body.gpu_model,
      gpu_count: body.gpu_count,
      host_role: 'worker_compute',
      state: 'bootstrap_issued',
      capacity_mode: body.capacity_mode,
      health: 'unknown',
      booted_at: null,
      runtime_checked_at: null,
      is_runtime_passed: false,
      data_disks: [],
    });
  } catch (err) {
    // The region was retired after it was read.
    if (isForeignKeyViolation(err, 'node_in_live_region')) throw unknownName('region_name', 'region', body.region_name);
    if (isUniqueViolation(err)) throw new AppError('already_exists', REFUSALS.node_name_taken(body.name));
    throw err;
  }
  if (private_network !== undefined) await setPrivateNetwork(ctx.tx, id, private_network);
  await refreshSummary(ctx.tx, id);
  ctx.target('node', id);
  ctx.note({ name: body.name, region_name: body.region_name });
  await nameHost(ctx, id, body.host);
  const enrollment = await createEnrollment(ctx, id);
  ctx.emit('node.changed', {
    subject: id,
    data: { node_id: id, name: body.name, state: 'bootstrap_issued', state_reason: null },
  });
  return { node: await nodeView(ctx, ctx.tx, id), enrollment };
};

export const enrollmentCreate = async (ctx: WriteCtx, { params, body }: Req<'adminNodeEnrollmentCreate'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await refuseNode(ctx.tx, node, 'enroll');
  ctx.target('node', node.id);
  ctx.note({ reason: body.reason });
  await lockCertificates(ctx.tx, node.id);
  await nameHost(ctx, node.id, body.host);
  return createEnrollment(ctx, node.id);
};

const view = async (reader: Reader, nodeId: string) => {
  const [agent, certificates] = await Promise.all([
    findAgent(reader, nodeId),
    listCertificates(reader, nodeId, CERTIFICATES_SHOWN),
  ]);
  return {
    node_id: nodeId,
    is_connected: agent?.is_connected ?? false,
    last_seen_at: agent?.last_seen_at ?? null,
    agent_version: agent?.agent_version ?? null,
    boot_id: agent?.boot_id ?? null,
    booted_at: agent?.booted_at ?? null,
    clock_skew_ms: agent?.clock_skew_ms ?? null,
    kinds: [...(agent?.kinds ?? [])],
    certificates,
  };
};

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeAgentGet'>) =>
  ctx.read(async (reader) => view(reader, (await getNode(reader, params.node_id)).id));

export const revoke = async (ctx: WriteCtx, { params, body }: Req<'adminNodeAgentRevoke'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  await lockCertificates(ctx.tx, node.id);
  await revokeEnrollments(ctx.tx, node.id);
  const revoked = await revokeCertificates(ctx.tx, node.id, body.reason);
  ctx.note({ reason: body.reason, certificates_revoked: revoked });
  return view(ctx.tx, node.id);
};

export const update = async (ctx: WriteCtx, { params, body }: Req<'adminNodeAgentUpdate'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  const agent = await findAgent(ctx.tx, node.id);
  if (agent === undefined) throw conflict(REFUSALS.agent_never_connected);
  if (!agent.kinds.includes('agent.update')) throw conflict('The agent of this node does not support updates.');
  if ((await findOpenTask(ctx.tx, node.id, 'agent.update')) !== undefined) throw conflict(REFUSALS.agent_updating);
  const task = await insertTask(ctx.tx, {
    node_id: node.id,
    kind: 'agent.update',
    params: { version: body.version, digest: body.digest },
    correlation_id: ctx.correlation_id,
  });
  ctx.target('node', node.id);
  ctx.note({ task_id: task.id, version: body.version, digest: body.digest });
  ctx.tx.wake();
  return task;
};

export const taskList = async (ctx: ReadCtx, { params, query }: Req<'adminNodeTaskList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    return listNodeTasks(reader, { node_id: node.id, before, state: query.state ?? null, limit: limit + 1 });
  });
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.id],
    (row) => row,
  );
};

export const taskGet = async (ctx: ReadCtx, { params }: Req<'adminNodeTaskGet'>) => {
  const task = await ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    return findNodeTask(reader, node.id, params.task_id);
  });
  if (task === undefined) throw notFound('task');
  return task;
};
