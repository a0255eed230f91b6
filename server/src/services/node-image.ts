/**
 * Images on a host, for operators: the list from the host's last report, and pulling, verifying and evicting one. A
 * launch pulls its image automatically; pulling earlier saves the wait. An image in use for creating a VM is kept.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { TaskParams } from '@gpuaas/contract/node';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { findInventory } from '../db/inventory.ts';
import { findAgent } from '../db/node-agent.ts';
import { isBeingCloned } from '../db/node-image.ts';
import { insertTask } from '../db/node-task.ts';
import { findOsImage } from '../db/os-image.ts';
import { findOpenTask, type TaskView } from '../db/task-view.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict, notFound } from '../errors.ts';
import { getNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
type Kind = 'image.pull' | 'image.evict' | 'image.verify';

export const list = (ctx: ReadCtx, { params }: Req<'adminNodeImageList'>) =>
  ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    const row = await findInventory(reader, node.id);
    const images = row?.content.images;
    return {
      node_id: node.id,
      observed_at: row?.observed_at ?? null,
      unreadable: images !== undefined && 'unreadable' in images ? images.unreadable : null,
      images: (images !== undefined && 'value' in images ? images.value : []).map((image) => ({
        digest: image.digest,
        name: image.name,
        size_bytes: image.size_bytes,
        verified_at: image.verified_at ?? null,
        last_used_at: image.last_used_at ?? null,
      })),
    };
  });

const refuseUnsupported = async (tx: Tx, nodeId: string, kind: Kind): Promise<void> => {
  const agent = await findAgent(tx, nodeId);
  if (agent === undefined) throw conflict(REFUSALS.agent_never_connected);
  if (!agent.kinds.includes(kind)) throw conflict('The agent of this node does not support images.');
};

/** Repeating a request has the effect of once. */
const ask = async <K extends Kind>(
  ctx: WriteCtx,
  nodeId: string,
  task: Readonly<{ kind: K; params: TaskParams<K>; digest: string }>,
): Promise<TaskView> => {
  await refuseUnsupported(ctx.tx, nodeId, task.kind);
  const asked =
    (await findOpenTask(ctx.tx, nodeId, task.kind, task.params)) ??
    (await insertTask(ctx.tx, {
      node_id: nodeId,
      kind: task.kind,
      params: task.params,
      correlation_id: ctx.correlation_id,
    }));
  ctx.target('node', nodeId);
  ctx.note({ task_id: asked.id, digest: task.digest });
  ctx.tx.wake();
  return asked;
};

export const pull = async (ctx: WriteCtx, { params, body }: Req<'adminNodeImagePull'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  const image = await findOsImage(ctx.tx, body.image_name);
  const version = image?.versions.find(
    ({ digest, retired_at }) => retired_at === null && (body.digest === undefined || body.digest === digest),
  );
  if (image === undefined || version === undefined) throw notFound('image');
  const { digest } = version;
  return ask(ctx, node.id, { kind: 'image.pull', params: { image: { name: image.name, digest } }, digest });
};

export const evict = async (ctx: WriteCtx, { params, body }: Req<'adminNodeImageEvict'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  if (await isBeingCloned(ctx.tx, node.id, body.digest))
    throw conflict('A VM is being created from this image on the node. Evict the image after that.');
  return ask(ctx, node.id, { kind: 'image.evict', params: { digest: body.digest }, digest: body.digest });
};

export const verify = async (ctx: WriteCtx, { params, body }: Req<'adminNodeImageVerify'>) => {
  const node = await getNode(ctx.tx, params.node_id);
  return ask(ctx, node.id, { kind: 'image.verify', params: { digest: body.digest }, digest: body.digest });
};
