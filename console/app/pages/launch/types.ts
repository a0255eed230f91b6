/** The contract's shapes that a launch is made of. */
export type { Allocation, LaunchAlternative, Money, OsImage, Region, Sku, SshKey } from '@gpuaas/sdk';
export type { RequestOf, ResponseOf } from '../../api/call.ts';
