/** The part of the contract between agents and the control plane. */
import type { Static } from 'typebox';
import type { TrustBundle as BundleSchema, LogLine as LineSchema } from './api.ts';
import type {
  Blocker as BlockerSchema,
  Candidate as CandidateSchema,
  Prerequisite as PrerequisiteSchema,
  TopologyMap as TopologyMapSchema,
} from './candidate.ts';
import type {
  DiskFacts as DiskSchema,
  FabricFacts as FabricSchema,
  HostFacts as FactsSchema,
  GpuFacts as GpuSchema,
  HypervisorFacts as HypervisorSchema,
  CachedImage as ImageSchema,
  NetworkFacts as NetworkSchema,
  NicFacts as NicSchema,
  FabricPartition as PartitionSchema,
  PciFunction as PciSchema,
  SystemFacts as SystemSchema,
  Tool as ToolSchema,
} from './facts.ts';
import type { HealthAlert as AlertSchema, HealthReport as ReportSchema } from './health.ts';
import type {
  HostDrift as DriftSchema,
  Inventory as InventorySchema,
  BundleLease as LeaseSchema,
  HostVm as MachineSchema,
} from './inventory.ts';
import type {
  TaskPayload as PayloadSchema,
  TaskProgress as ProgressSchema,
  TaskRefusal as RefusalSchema,
  TaskResult as ResultSchema,
  SignedTask as SignedSchema,
} from './task.ts';
import type { BundlePlan as PlanSchema, TaskSlot as SlotSchema, TaskDisk as TaskDiskSchema } from './task-shapes.ts';
import type { DiskEvidence as EvidenceSchema } from './wipe-evidence.ts';

/** Of a launch, in the public contract. */
export { DATA_DISK_DIRECTORY, type NetworkKind, type StorageKind } from '../public/launch-choice.ts';
export {
  type HostReport,
  type NodeApi,
  type NodeBody,
  type NodeOperation,
  type NodeOperationId,
  type NodeParams,
  type NodeResponse,
  nodeApi,
} from './api.ts';
export { TopologyMap as TopologyMapShape, WIPE_METHODS, type WipeMethod } from './candidate.ts';
export { countCpus } from './cpu-list.ts';
export { BOOT_KINDS, type BootKind, HostFacts as HostFactsShape } from './facts.ts';
export { candidateHash, mapHash } from './hash.ts';
export { CLASSIFICATIONS, HealthReport as HealthReportShape, TENANT_MESSAGE_MAX } from './health.ts';
export { type DiskRange, READ_BACK, readBackFloor, readBackGap } from './read-back.ts';
export { CLOCK_SKEW_MAX_MS, TASK_ERRORS, TaskPayload as TaskPayloadShape } from './task.ts';
export {
  defineTask,
  HOST_PORTS,
  type HostPort,
  isTaskKind,
  kindsOf,
  TASK_EXPIRES_S,
  TASK_KINDS,
  TASKS,
  type TaskEffect,
  type TaskKind,
  type TaskOutput,
  type TaskParams,
  taskLabel,
} from './task-kinds.ts';
export { growTaskTree, taskTreeBytes } from './task-tree.ts';
export { CLEANUP_LIMIT_S, type Isolation, meetsLevel, WIPE_LEVELS, type WipeLevel, wipeLevelOf } from './wipe.ts';

export type Blocker = Static<typeof BlockerSchema>;
export type Candidate = Static<typeof CandidateSchema>;
export type Prerequisite = Static<typeof PrerequisiteSchema>;
export type TopologyMap = Static<typeof TopologyMapSchema>;
export type HostFacts = Static<typeof FactsSchema>;
export type PciFunction = Static<typeof PciSchema>;
export type GpuFacts = Static<typeof GpuSchema>;
export type DiskFacts = Static<typeof DiskSchema>;
export type NicFacts = Static<typeof NicSchema>;
export type FabricFacts = Static<typeof FabricSchema>;
export type FabricPartition = Static<typeof PartitionSchema>;
export type NetworkFacts = Static<typeof NetworkSchema>;
export type HypervisorFacts = Static<typeof HypervisorSchema>;
export type SystemFacts = Static<typeof SystemSchema>;
export type Tool = Static<typeof ToolSchema>;
export type CachedImage = Static<typeof ImageSchema>;
export type HealthAlert = Static<typeof AlertSchema>;
export type HealthReport = Static<typeof ReportSchema>;
export type HostDrift = Static<typeof DriftSchema>;
export type HostVm = Static<typeof MachineSchema>;
export type BundleLease = Static<typeof LeaseSchema>;
export type Inventory = Static<typeof InventorySchema>;
export type BundlePlan = Static<typeof PlanSchema>;
export type DiskEvidence = Static<typeof EvidenceSchema>;
export type SignedTask = Static<typeof SignedSchema>;
export type TaskDisk = Static<typeof TaskDiskSchema>;
export type TaskSlot = Static<typeof SlotSchema>;
export type TaskPayload = Static<typeof PayloadSchema>;
export type TaskProgress = Static<typeof ProgressSchema>;
export type TaskRefusal = Static<typeof RefusalSchema>;
export type TaskErrorCode = TaskRefusal['error_code'];
export type TaskResult = Static<typeof ResultSchema>;
export type LogLine = Static<typeof LineSchema>;
export type TrustBundle = Static<typeof BundleSchema>;
export type Fact<T> = Readonly<{ value: T }> | Readonly<{ unreadable: string }>;
