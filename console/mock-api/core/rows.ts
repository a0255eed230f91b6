/** The stored rows, in the contract's own types. Values that can be computed on read are not stored. */
import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import type { TaskKind } from '@gpuaas/contract/task-kinds';

type ResponseRow<K extends keyof PublicApi> = ResponseOf<PublicApi[K]>;
type Item<K extends keyof PublicApi> = ResponseRow<K> extends { items: (infer T)[] } ? T : never;

export type Region = Item<'regionList'>;
/** Price, profiles and required parts are added when it is read. */
export type Sku = Omit<
  ResponseRow<'adminSkuGet'>,
  'blockers' | 'gpu_hourly_price' | 'vm_profiles' | 'required_parts' | 'allocation_count'
>;
export type VmProfile = Omit<ResponseRow<'adminVmProfileGet'>, 'hosts_checked' | 'hosts_too_small' | 'too_small'>;
export type Price = Omit<Item<'adminPriceList'>, 'valid_until' | 'state'> & { ended_at: string | null };
export type Pool = Omit<ResponseRow<'adminPoolGet'>, 'kind' | 'organization_name' | 'node_count'>;
/** Where it can be the default follows from the hosts. */
export type OsImage = Omit<ResponseRow<'osImageGet'>, 'default_regions'>;
export type User = ResponseRow<'adminUserGet'>;
export type Organization = ResponseRow<'organizationGet'>;
export type Invitation = Item<'invitationList'> & { token: string };
export type Project = Omit<ResponseRow<'projectGet'>, 'actions'>;
export type ServiceAccount = ResponseRow<'serviceAccountGet'> & {
  secret: string;
  /** Accepted until then, after a rotation with overlap. */
  previous?: Readonly<{ secret: string; until_ms: number }>;
};
export type Token = Item<'apiTokenList'> & { owner_id: string };
export type SshKey = ResponseRow<'sshKeyGet'> & { user_id: string };
export type WebSession = Item<'webSessionList'> & { user_id: string };
export type AccessPolicy = ResponseRow<'accessPolicyGet'>;
export type Member = Item<'organizationMemberList'> & { organization_id: string };
export type ProjectMember = Item<'projectMemberList'> & { project_id: string };

export type Allocation = Omit<
  ResponseRow<'allocationGet'>,
  'actions' | 'progress' | 'notices' | 'cost_so_far' | 'ssh' | 'placement' | 'fabric'
> & {
  organization_id: string;
  node_id: string | null;
  slot_ids: string[];
  placement: ResponseRow<'allocationGet'>['placement'];
  host_key: string;
  private_ip: string | null;
  /** The run that is working on it. */
  run_id: string | null;
};
export type AllocationView = ResponseRow<'allocationGet'>;
export type Claim = ResponseRow<'adminAllocationGet'>['claims'][number] & { allocation_id: string };
export type UsageRecord = Omit<Item<'usageList'>, 'cost'> & { project_id: string; cost_minor: number | null };
export type Grant = Item<'accessGrantList'>;
export type Session = ResponseRow<'terminalSessionGet'> & {
  project_id: string;
  ticket: string;
  ticket_expires_at: number;
};

export type NodeView = ResponseRow<'adminNodeGet'>;
export type SlotView = ResponseRow<'adminNodeSlotGet'>;
/** `kind` is a string on the wire, so that an older client reads the tasks of newer agents; the demo knows its kinds. */
export type NodeTask = Omit<ResponseRow<'adminNodeTaskGet'>, 'kind'> & { kind: TaskKind };
export type Finding = ResponseRow<'adminNodeInventoryGet'>['findings'][number];
export type HealthAlert = ResponseRow<'adminNodeHealthGet'>['alerts'][number];
export type HealthOverride = ResponseRow<'adminNodeHealthGet'>['overrides'][number];
export type DiskOwnership = Item<'adminNodeDiskList'>;
export type Discovery = ResponseRow<'adminNodeDiscoveryGet'>;
export type Candidate = NonNullable<Discovery['map']>['candidates'][number]['content'];
export type Prerequisite = NonNullable<Discovery['map']>['prerequisites'][number];
export type NodeImage = ResponseRow<'adminNodeImageList'>['images'][number];
export type Certificate = ResponseRow<'adminNodeAgentGet'>['certificates'][number];
export type PlatformKey = Item<'adminPlatformKeyList'>;
export type TrustKey = Item<'adminTrustKeyList'>;
export type Clock = Omit<ResponseRow<'adminClockGet'>, 'agents' | 'database_time'>;
export type Breaker = ResponseRow<'adminHealthBreakerGet'>;
export type Backup = Item<'adminBackupList'>;
export type Restore = ResponseRow<'adminRestoreGet'>['restore'];
export type WipeProof = Item<'adminNodeSlotProofList'>;
export type SlotOverride = ResponseRow<'adminNodeSlotMarkWiped'>['override'];

export type Slot = Omit<SlotView, 'actions' | 'status_deadline_at'>;
/** What a discovery would find now, beside what was approved. */
export type Node = Omit<
  NodeView,
  | 'actions'
  | 'state_deadline_at'
  | 'free_gpus'
  | 'largest_set'
  | 'has_hardware_change'
  | 'gpus_found'
  | 'gpu_model_conflict'
  | 'unapproved_disks'
  | 'occupancy'
  | 'finding_count'
  | 'is_connected'
> & {
  number: number;
  private_network: string;
  is_connected: boolean;
  agent_version: string | null;
  boot_id: string;
  booted_at: string;
  clock_skew_ms: number;
  certificates: Certificate[];
  findings: Finding[];
  vms: ResponseRow<'adminNodeInventoryGet'>['vms'];
  alerts: HealthAlert[];
  overrides: HealthOverride[];
  images: NodeImage[];
  /** Candidates that differ from the default host, by slot index. */
  found: Map<number, Partial<Candidate>>;
  unmet: Prerequisite[];
  discovered_at: string | null;
  discovery_task_id: string | null;
};

export type Run = Omit<ResponseRow<'adminWorkflowRunGet'>, 'actions' | 'step_label'> & {
  path: readonly PathStep[];
  step_started_at: string;
  node_id: string | null;
  steps: Item<'adminWorkflowRunStepList'>[];
  task_id: string | null;
  /** Incremented when scheduled changes for it no longer apply. */
  turn: number;
};
export type PathStep = Readonly<{
  step: string;
  label: string;
  kind: TaskKind | null;
  seconds: number;
  bytes?: number;
}>;

export type AuditRow = Item<'adminAuditLogList'>;
export type LogLine = Item<'adminLogList'>;
export type SitePolicy = ResponseRow<'adminSitePolicyGet'>;
export type SignUpRequest = Item<'adminSignUpRequestList'>;
export type QuotaRequest = Item<'quotaRequestList'>;
export type StoredQuotaRequest = Omit<QuotaRequest, 'organization_name' | 'project_name' | 'current_gpu_limit'>;
export type GroupMapping = Item<'adminGroupMappingList'>;
export type Event = Item<'eventList'>;
export type OrganizationEvent = Item<'organizationEventList'>;
/** As stored: an event of the platform has no organization and no project. */
export type KeptEvent = Omit<Event, 'organizationid' | 'projectid'> &
  Partial<Pick<Event, 'organizationid' | 'projectid'>>;
