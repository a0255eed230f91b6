/** From what the tenant asked and the catalog says to what the scheduler decides. */
import type { PlacementRequest } from '@gpuaas/scheduler';
import type { KeyColumn } from '../db/placement.ts';
import type { LaunchFacts } from '../db/statements/launch.ts';
import { AppError, notFound } from '../errors.ts';

export type Launch = Readonly<{
  sku_name: string;
  region_name: string;
  gpu_count: number;
  image_name: string | null;
  vm_profile: string | null;
  organization_id: string;
  project_id: string;
}>;

type Sku = NonNullable<LaunchFacts['sku']>;
type Region = NonNullable<LaunchFacts['region']>;
export type CheckedLaunch = Readonly<{ sku: Sku; region: Region; request: PlacementRequest }>;

const field = (name: string, code: string, message: string): AppError =>
  new AppError('invalid_request', `Invalid request: ${name} ${message}.`, {
    errors: [{ pointer: `/body/${name}`, code, message }],
  });

/** Refuses what can never work, by field; what could work another day is the scheduler's to refuse, with reasons. */
export const checkLaunch = (launch: Launch, facts: LaunchFacts): CheckedLaunch => {
  const { sku, region } = facts;
  if (sku === null) throw notFound('SKU');
  if (region === null) throw notFound('region');
  if (launch.image_name !== null && facts.image === null)
    throw field('image_name', 'unusable', `names no image that runs on ${sku.name}`);
  if (!sku.allowed_gpu_counts.includes(launch.gpu_count))
    throw field('gpu_count', 'not_allowed', `must be ${sku.allowed_gpu_counts.join(', ')} for ${sku.name}`);
  if (launch.vm_profile !== null && facts.profile === null)
    throw field('vm_profile', 'unknown', `names no profile of ${sku.name} with ${launch.gpu_count} GPUs`);
  if (sku.capacity_shape === 'gpu_slice' && facts.profile === null)
    throw new AppError('internal', 'The SKU has no VM profile for this GPU count.', {
      internal: `${sku.name} x ${launch.gpu_count}`,
    });
  return {
    sku,
    region,
    request: {
      shape: sku.capacity_shape,
      sku: sku.name,
      region: region.name,
      gpu_count: launch.gpu_count,
      allowed_gpu_counts: sku.allowed_gpu_counts,
      gpus_per_node: sku.gpus_per_node,
      tenant_id: launch.organization_id,
      image: null,
      quota_gpus_remaining: facts.quota_gpus_remaining,
    },
  };
};

/** Which column of the placement index ranks nodes for a launch. A slice of another size than those is not indexed. */
export const keyColumnOf = (gpuCount: number, isBareMetal: boolean): KeyColumn => {
  if (isBareMetal) return 'key_node';
  return gpuCount >= 8 ? 'key_8' : gpuCount >= 4 ? 'key_4' : gpuCount >= 2 ? 'key_2' : 'key_1';
};
