/**
 * Compares the GPUs that discovery saw with the model that a node was added with. A difference is stored as a sentence:
 * placement, approval and operators read it. It is judged again when the site names other PCI IDs.
 */
import { invariant } from '@gpuaas/kit';
import type { Reader, Tx } from '../db/client.ts';
import { findNode, listNodesWithGpus, setFoundGpus } from '../db/node.ts';
import { listNamingSkus } from '../db/sku.ts';
import { foundGpus, modelConflict, type NamedIds, type SeenGpus } from '../domain/gpu-model.ts';
import { refreshSummary } from '../placement/summary.ts';

/** Of two SKUs that name one ID, the first by name decides. */
const namedIds = async (reader: Reader): Promise<NamedIds> =>
  Object.fromEntries(
    (await listNamingSkus(reader))
      .toReversed()
      .flatMap(({ gpu_ids, gpu_model }) => gpu_ids.map((id) => [id, gpu_model])),
  );

const judge = async (
  tx: Tx,
  node: Readonly<{ id: string; name: string; gpu_model: string }>,
  seen: readonly SeenGpus[],
  named: NamedIds,
): Promise<void> => {
  const found = foundGpus(seen, named);
  await setFoundGpus(tx, node.id, { gpus_found: found, gpu_model_conflict: modelConflict(node, found) });
};

/** Of one discovery. The caller refreshes the placement index. */
export const judgeNodeGpus = async (tx: Tx, nodeId: string, seen: readonly SeenGpus[]): Promise<void> => {
  const node = await findNode(tx, nodeId);
  invariant(node !== undefined, `node ${nodeId} exists`);
  await judge(tx, node, seen, await namedIds(tx));
};

/** Of every node with such GPUs, after the site named them. */
export const judgeGpusAgain = async (tx: Tx, gpuIds: readonly string[]): Promise<void> => {
  if (gpuIds.length === 0) return;
  const named = await namedIds(tx);
  for (const node of await listNodesWithGpus(tx, gpuIds)) {
    await judge(tx, node, node.gpus_found, named);
    await refreshSummary(tx, node.id);
  }
};
