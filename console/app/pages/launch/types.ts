/** The contract types of a launch. */
export type { Allocation, LaunchAlternative, Money, OsImage, Region, Sku, SshKey } from '@gpuaas/sdk';
export type { RequestOf, ResponseOf } from '../../api/call.ts';
