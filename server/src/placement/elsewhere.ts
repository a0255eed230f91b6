/**
 * Another host for an accepted launch. It requests the same SKU and shape: quota, price and catalog were settled when
 * the launch was accepted and are not checked again.
 */
import { DEFAULT_POLICY, type PlacementRequest, place } from '@gpuaas/scheduler';
import type { AllocationRow } from '../db/allocation.ts';
import type { Reader, Tx } from '../db/client.ts';
import { findGuestImage } from '../db/guest.ts';
import { type Choice, chooseNode } from './commit.ts';
import { wideSnapshot } from './refusal.ts';
import { keyColumnOf } from './request.ts';

export type SoldLaunch = Readonly<
  Pick<
    AllocationRow,
    | 'capacity_shape'
    | 'sku_name'
    | 'region_name'
    | 'gpu_count'
    | 'organization_id'
    | 'image_name'
    | 'image_digest'
    | 'vcpu_count'
    | 'memory_mib'
    | 'hugepages'
    | 'numa_policy'
  >
>;

/** The boot kind is that of the pinned version. */
const requestOf = async (reader: Reader, launch: SoldLaunch): Promise<PlacementRequest> => ({
  shape: launch.capacity_shape,
  sku: launch.sku_name,
  region: launch.region_name,
  gpu_count: launch.gpu_count,
  allowed_gpu_counts: [launch.gpu_count],
  gpus_per_node: launch.gpu_count,
  tenant_id: launch.organization_id,
  boot_kind: (await findGuestImage(reader, launch))?.boot_kind ?? null,
  // As it was sold; bare metal has neither.
  vm:
    launch.vcpu_count === null || launch.memory_mib === null
      ? null
      : {
          vcpu_count: launch.vcpu_count,
          memory_mib: launch.memory_mib,
          hugepages: launch.hugepages ?? 'auto',
          numa_policy: launch.numa_policy ?? 'strict',
        },
  quota_gpus_remaining: null,
});

/** Whether a node other than these fits now. Nothing is locked: the move decides again. */
export const fitsElsewhere = async (
  reader: Reader,
  launch: SoldLaunch,
  gpuModel: string,
  except: readonly string[],
): Promise<boolean> => {
  const request = await requestOf(reader, launch);
  const { nodes, ...snapshot } = await wideSnapshot(reader, request, gpuModel);
  const others = nodes.filter(({ id }) => !except.includes(id));
  const decision = place(
    request,
    { ...snapshot, nodes: others, regions: [], skus: [] },
    { ...DEFAULT_POLICY, alternatives_max: 0 },
  );
  return decision.kind === 'placed';
};

/** A locked node other than these that accepts the launch, or null. */
export const chooseElsewhere = async (tx: Tx, launch: SoldLaunch, except: readonly string[]): Promise<Choice | null> =>
  chooseNode(
    tx,
    await requestOf(tx, launch),
    {
      region_name: launch.region_name,
      sku_name: launch.sku_name,
      organization_id: launch.organization_id,
      key: keyColumnOf(launch.gpu_count, launch.capacity_shape === 'baremetal'),
      except,
    },
    undefined,
  );
