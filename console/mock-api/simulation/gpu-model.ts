/** The GPUs of a node by the server's rules: what a discovery of the mock finds, and whether it is the node's model. */
import { type FoundGpus, foundGpus, modelConflict, seenGpus } from '../../../server/src/domain/gpu-model.ts';
import type { Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { PLACES } from '../seed/host.ts';

/** What the driver of every host reports; a place of a node may hold something else. */
export const HOST_GPU = { gpu_vendor_device: '10de:2335', gpu_model: 'NVIDIA H200' };

export const gpusOf = (
  world: World,
  node: Node,
): Readonly<{ gpus_found: FoundGpus[]; gpu_model_conflict: string | null }> => {
  if (node.discovered_at === null) return { gpus_found: [], gpu_model_conflict: null };
  const named = Object.fromEntries(
    world.skus
      .filter(({ retired_at }) => retired_at === null)
      .flatMap(({ gpu_ids, gpu_model }) => gpu_ids.map((id) => [id, gpu_model])),
  );
  const seen = seenGpus(PLACES.map(({ slot_index }) => ({ ...HOST_GPU, ...node.found.get(slot_index) })));
  const gpus_found = foundGpus(seen, named);
  return { gpus_found, gpu_model_conflict: modelConflict(node, gpus_found) };
};
