/** Stable identifiers of a VM's resources, derived from the allocation and the plan. */
import { createHash } from 'node:crypto';
import type { VmPlan } from '../host/host.ts';

/** This namespace marks a domain as managed. */
export const OWNER_NAMESPACE = 'urn:gpuaas:machine:1';

export const planHash = (plan: VmPlan['plan']): string =>
  createHash('sha256').update(JSON.stringify(plan)).digest('hex');

/** Derived from the allocation, as a custom UUID (version 8). */
export const vmUuid = (allocation: string): string => {
  const hex = createHash('sha256').update(`gpuaas machine ${allocation}`).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
