/**
 * The contract: the source of every shape, permission, audit action and idempotency rule. It imports no other package
 * of this repository.
 */

export type { Static } from 'typebox';
export { PAGE_LIMIT_MAX, Problem } from './common.ts';
export {
  type Access,
  type Api,
  type Handlers,
  isMutation,
  locationOf,
  type Operation,
  type RequestOf,
  type ResponseOf,
} from './define.ts';
export { ERROR_CODES, ERRORS, type ErrorCode } from './errors.ts';
export { ID_PREFIXES, type IdKind } from './ids.ts';
export {
  type CountedLimit,
  fullRefusal,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  type LimitValues,
  limitRefusal,
  limitsOf,
} from './limits.ts';
export { HGX_PARTITIONS } from './partitions.ts';
export { GRANT_STATES } from './public/access-grant.ts';
export { DISK_APPROVAL_STATES, OPEN_DISK_APPROVAL_STATES } from './public/admin-disk.ts';
export { SITE_CHECK_STATES, type SiteCheckState } from './public/admin-doctor.ts';
export { ImageSpec } from './public/admin-image.ts';
export { LOG_LEVELS } from './public/admin-log.ts';
export { CAPACITY_MODES, CONVERSION_TARGETS, NODE_STATES, OCCUPANCIES, OVER_NODE_STATES } from './public/admin-node.ts';
export { OPEN_TASK_STATES, type TASK_STATES } from './public/admin-node-task.ts';
export type { PlatformKeyKind } from './public/admin-platform-key.ts';
export { PoolSpec } from './public/admin-pool.ts';
export { PriceSpec } from './public/admin-price.ts';
export { RegionSpec } from './public/admin-region.ts';
export { SETUP_STEPS, type SetupStepKey, type SetupStepState } from './public/admin-setup.ts';
export {
  SITE_ACTIONS,
  SITE_FILE_VERSION,
  SITE_SECTIONS,
  type SiteChange,
  SiteFile,
} from './public/admin-site.ts';
export { SkuSpec } from './public/admin-sku.ts';
export { APPROVALS, SLOT_STATUSES } from './public/admin-slot.ts';
export { VmProfileSpec } from './public/admin-vm-profile.ts';
export {
  ALLOCATION_STATES,
  CUSTODY_ALLOCATION_STATES,
  ENDED_ALLOCATION_STATES,
  HELD_ALLOCATION_STATES,
  MOVING_ALLOCATION_STATES,
  POWER_STATES,
  UNAVAILABLE_REASONS,
  WORKFLOW_PHASES,
} from './public/allocation.ts';
export { EXPECTED_KINDS, EXPECTED_REASON } from './public/capacity.ts';
export { SLOT_PARTS } from './public/catalog.ts';
export { FABRIC_ISOLATIONS, FABRIC_PROVIDERS, type FabricIsolation } from './public/fabric.ts';
export { api, type OperationId, type PublicApi } from './public/index.ts';
export {
  DATA_DISK_DIRECTORY,
  NETWORK_CHOICES,
  NETWORK_KINDS,
  type NetworkChoice,
  type NetworkKind,
  STORAGE_KINDS,
  type StorageKind,
} from './public/launch-choice.ts';
export { SESSION_STATES } from './public/terminal-session.ts';
export {
  FAILED_STEP_OUTCOMES,
  LIVE_WORKFLOW_STATES,
  STEP_OUTCOME_LABELS,
  type StepOutcome,
} from './public/workflow-run.ts';
export * from './roles.ts';
export { readSshPublicKey } from './ssh-public-key.ts';
