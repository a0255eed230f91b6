import type { OperationId } from '@gpuaas/contract';

/**
 * Mutations that succeed in no scenario yet, so nothing compares their responses. The list only shrinks: an operation
 * that is new gets a scenario.
 */
export const UNCOMPARED: ReadonlySet<OperationId> = new Set<OperationId>([
  'webSessionRevoke',
  'adminWorkflowRunRetry',
  'adminWorkflowRunCancel',
  'adminAllocationForceCleanup',
  'adminClaimBackfill',
  'adminRestoreBegin',
  'adminNodeRestoreRelease',
  'adminClockConfirm',
  'adminNodeSlotApprove',
  'adminNodeSlotMarkWiped',
  'adminNodeDiskApprove',
  'adminNodeDiskExclude',
  'adminNodeDiskRevoke',
  'adminHealthBreakerReset',
  'adminNodeVmRemove',
  'adminNodeBundleLeaseEnd',
  'adminPlatformKeyRotate',
  'adminTrustKeyCreate',
  'adminTrustKeyActivate',
  'adminTrustKeyRetire',
  'adminTrustKeyRevoke',
  'adminSitePlan',
  'adminSiteApply',
  'adminSignUpRequestApprove',
  'adminSignUpRequestReject',
  'adminGroupSyncPlan',
  'adminGroupSyncApply',
  'adminBackupRecord',
]);
