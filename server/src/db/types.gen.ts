// Written by `make gen` from a freshly migrated database; do not edit.
// Times are RFC 3339 strings and int8 is a number, as the parsers in client.ts make them. JSON is written as text,
// because pg would turn a JavaScript array into a PostgreSQL array.
import type { ColumnType, Generated } from 'kysely';

type Int8 = ColumnType<number, number | bigint | string, number | bigint | string>;
type Json = ColumnType<unknown, string, string>;
type NullableJson = ColumnType<unknown, string | null | undefined, string | null>;
type Timestamp = ColumnType<string, string | Date, string | Date>;
type NullableTimestamp = ColumnType<string | null, string | Date | null | undefined, string | Date | null>;
type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>;
type GeneratedJson = ColumnType<unknown, string | undefined, string>;

export interface AccessPolicies {
  organization_id: string;
  session_idle_s: Generated<number>;
  session_max_s: Generated<number>;
  ends_with_sign_in: Generated<boolean>;
  records_terminals: Generated<boolean>;
  recording_days: Generated<number>;
  allows_service_accounts: Generated<boolean>;
  version: Generated<number>;
  updated_at: GeneratedTimestamp;
}

export interface AllocationAccessGrants {
  id: string;
  organization_id: string;
  project_id: string;
  allocation_id: string;
  user_id: string;
  user_name: string;
  ssh_key_id: string;
  public_key: string;
  fingerprint: string;
  state: Generated<'pending' | 'installed' | 'failed' | 'revoking' | 'revoked'>;
  state_reason: string | null;
  granted_by: string;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  installed_at: NullableTimestamp;
  revoked_at: NullableTimestamp;
}

export interface AllocationInstalls {
  allocation_id: string;
  organization_id: string;
  project_id: string;
  run_id: string;
  install_number: number;
  image_name: string | null;
  image_digest: string | null;
  ssh_key_ids: string[];
  user_data: string | null;
  created_at: GeneratedTimestamp;
}

export interface AllocationPlacements {
  allocation_id: string;
  organization_id: string;
  project_id: string;
  node_id: string;
  slot_ids: string[];
  partition_id: number | null;
  vm_profile_name: string | null;
  vcpu_count: number | null;
  memory_mib: number | null;
  gpu_count: number;
  gpu_hourly_price_minor: Int8;
  currency: string;
  scores: Json;
  created_at: GeneratedTimestamp;
}

export interface AllocationResourceClaims {
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  claim_kind: 'slot' | 'node_exclusive';
  node_id: string;
  slot_id: string | null;
  target_id: ColumnType<string, never, never>;
  gpu_count: number;
  slot_generation: number | null;
  created_at: GeneratedTimestamp;
  released_at: NullableTimestamp;
  wipe_proof_id: string | null;
  is_proof_verified: ColumnType<boolean, never, never>;
  node_mode: ColumnType<string, never, never>;
  live_kind: ColumnType<string, never, never>;
  adopted_generation: number | null;
}

export interface AllocationUserData {
  allocation_id: string;
  organization_id: string;
  project_id: string;
  user_data: string;
  updated_at: GeneratedTimestamp;
}

export interface Allocations {
  id: string;
  organization_id: string;
  project_id: string;
  name: string;
  capacity_shape: Generated<'baremetal' | 'gpu_slice'>;
  sku_name: string;
  region_name: string;
  image_name: string | null;
  image_digest: string | null;
  gpu_count: number;
  node_id: string | null;
  state: 'requested' | 'provisioning' | 'active' | 'releasing' | 'released' | 'failed' | 'release_failed';
  claimable_as: ColumnType<string, never, never>;
  state_reason: string | null;
  state_since: GeneratedTimestamp;
  state_deadline_at: NullableTimestamp;
  requested_by: string;
  ssh_key_ids: Generated<string[]>;
  tags: GeneratedJson;
  is_protected: Generated<boolean>;
  max_duration_s: number | null;
  release_at: NullableTimestamp;
  activated_at: NullableTimestamp;
  release_requested_at: NullableTimestamp;
  released_at: NullableTimestamp;
  failure_reason: string | null;
  correlation_id: string;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
  power_state: 'on' | 'stopping' | 'off' | 'starting' | 'rebooting' | 'reinstalling' | 'unknown' | null;
  power_since: NullableTimestamp;
  power_reason: string | null;
  power_run_id: string | null;
  power_grace_s: number | null;
  install_number: Generated<number>;
}

export interface ApiTokens {
  id: string;
  kind: 'personal' | 'service_account' | 'access';
  user_id: string | null;
  service_account_id: string | null;
  organization_id: string | null;
  project_id: string | null;
  name: string;
  token_prefix: string;
  token_hash: Buffer;
  scopes: string[];
  expires_at: Timestamp;
  last_used_at: NullableTimestamp;
  revoked_at: NullableTimestamp;
  created_at: GeneratedTimestamp;
}

export interface AuditChains {
  chain: string;
  sequence: Int8;
  hash: Buffer;
  sealed_at: GeneratedTimestamp;
  headed_sequence: Generated<number>;
}

export interface AuditLogs {
  id: string;
  xid: Generated<string>;
  created_at: GeneratedTimestamp;
  organization_id: string | null;
  project_id: string | null;
  actor_kind: 'user' | 'service_account' | 'system' | 'anonymous';
  actor_id: string | null;
  actor_role: string | null;
  source_ip: string | null;
  user_agent: string | null;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  result: 'success' | 'failure' | 'denied';
  error_code: string | null;
  policy: string;
  correlation_id: string;
  metadata: GeneratedJson;
}

export interface AuditSealer {
  singleton: Generated<boolean>;
  sealed_xid: Generated<string>;
  sealed_id: Generated<string>;
  heads_line: Generated<number>;
  heads_hash: Generated<Buffer>;
}

export interface AuditSeals {
  chain: string;
  sequence: Int8;
  audit_log_id: string;
  hash: Buffer;
  sealed_at: GeneratedTimestamp;
}

export interface CapacityCounters {
  region_name: string;
  gpu_model: string;
  pool_organization_id: string;
  counts: Json;
  counted_at: GeneratedTimestamp;
}

export interface CapacitySamples {
  sampled_at: Timestamp;
  region_name: string;
  gpu_model: string;
  delivered_gpus: number;
  healthy_gpus: number;
  reserved_gpus: number;
  active_gpus: number;
  free_gpus: number;
}

export interface DiskOwnerships {
  id: string;
  node_id: string;
  region_name: string;
  serial: string;
  device: string;
  state: 'approved' | 'wiping' | 'blocked' | 'owned' | 'revoked';
  state_reason: string | null;
  state_since: GeneratedTimestamp;
  approved_by: string;
  reason: string;
  wipe_proof_id: string | null;
  version: Generated<number>;
  correlation_id: string;
  created_at: GeneratedTimestamp;
}

export interface HealthBreaker {
  id: Generated<number>;
  is_tripped: Generated<boolean>;
  tripped_at: NullableTimestamp;
  reason: string | null;
  reset_by: string | null;
  reset_at: NullableTimestamp;
  version: Generated<number>;
}

export interface IdempotencyKeys {
  tenant: string;
  principal_id: string;
  operation: string;
  key: string;
  request_hash: Buffer;
  status: number;
  response: Buffer;
  response_sealed: boolean;
  created_at: GeneratedTimestamp;
  expires_at: GeneratedTimestamp;
}

export interface Invitations {
  id: string;
  organization_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  token_hash: Buffer;
  state: Generated<'pending' | 'accepted' | 'revoked'>;
  invited_by: string;
  expires_at: Timestamp;
  accepted_at: NullableTimestamp;
  accepted_by: string | null;
  created_at: GeneratedTimestamp;
}

export interface LogLines {
  logged_at: Timestamp;
  service: string;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  host_name: string;
  node_id: string | null;
  level: string;
  message: string;
  correlation_id: string | null;
  error_code: string | null;
  fields: Json;
  origin: string;
  number: Int8;
}

export interface NodeAgents {
  node_id: string;
  last_seen_at: Timestamp;
  agent_version: string;
  boot_id: string;
  booted_at: Timestamp;
  kinds: string[];
  clock_skew_ms: Generated<number>;
  trust_version: string | null;
}

export interface NodeCertificates {
  serial_number: string;
  node_id: string;
  ca_key_id: string;
  enrollment_id: string;
  fingerprint_sha256: string;
  not_before: Timestamp;
  not_after: Timestamp;
  revoked_at: NullableTimestamp;
  revoked_reason: string | null;
  created_at: GeneratedTimestamp;
}

export interface NodeEnrollments {
  id: string;
  node_id: string;
  token_hash: Buffer;
  created_by: string;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  expires_at: Timestamp;
  used_at: NullableTimestamp;
  revoked_at: NullableTimestamp;
}

export interface NodeFabricPartitions {
  node_id: string;
  partition_id: number;
  module_ids: number[];
}

export interface NodeHealthOverrides {
  node_id: string;
  source: string;
  mode: 'merge' | 'replace';
  alerts: Json;
  muted_alert_ids: Generated<string[]>;
  reason: string;
  created_by: string;
  created_at: GeneratedTimestamp;
  expires_at: NullableTimestamp;
}

export interface NodeHealthReports {
  node_id: string;
  source: string;
  observed_at: Timestamp;
  received_at: GeneratedTimestamp;
  successes: Json;
  alerts: Json;
}

export interface NodeInventories {
  node_id: string;
  observed_at: Timestamp;
  received_at: GeneratedTimestamp;
  boot_id: string;
  content: Json;
  findings: GeneratedJson;
  changed_at: GeneratedTimestamp;
}

export interface NodePlacementSummary {
  node_id: string;
  region_name: string;
  gpu_model: string;
  pool_organization_id: string;
  capacity_mode: string;
  occupancy: string;
  is_schedulable: boolean;
  free_mask: Int8;
  free_count: number;
  largest_set: number;
  key_1: ColumnType<number | null, number | null | undefined, number | null>;
  key_2: ColumnType<number | null, number | null | undefined, number | null>;
  key_4: ColumnType<number | null, number | null | undefined, number | null>;
  key_8: ColumnType<number | null, number | null | undefined, number | null>;
  key_node: ColumnType<number | null, number | null | undefined, number | null>;
  updated_at: GeneratedTimestamp;
}

export interface NodeResourceSlots {
  id: string;
  node_id: string;
  region_name: string;
  host_role: ColumnType<string, never, never>;
  slot_index: number;
  parent_slot_id: string | null;
  approval: 'approved' | 'disabled' | 'needs_reapproval';
  status: 'available' | 'reserved' | 'in_use' | 'cleaning' | 'cleanup_blocked' | 'quarantined';
  claim_mode: ColumnType<string, never, never>;
  status_reason: string | null;
  status_since: GeneratedTimestamp;
  health: Generated<'ok' | 'unhealthy' | 'unknown'>;
  health_detail: GeneratedJson;
  generation: Generated<number>;
  gpu_pci_address: string | null;
  gpu_uuid: string | null;
  module_id: number | null;
  numa_node: number | null;
  nvme_serial: string | null;
  nvme_device: string | null;
  mac_address: string | null;
  private_ip: string | null;
  network_id: string;
  fabric_claim_mode: string | null;
  fabric_vf_pci_address: string | null;
  wipe_method: 'nvme_sanitize' | 'nvme_format' | 'blkdiscard' | null;
  last_claimed_at: NullableTimestamp;
  wipe_proof_id: string | null;
  is_wipe_verified: ColumnType<boolean, never, never>;
  wiped_at: NullableTimestamp;
  approved_by: string | null;
  approved_at: NullableTimestamp;
  discovery_task_id: string | null;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
  content_hash: string | null;
  content: NullableJson;
  drift: NullableJson;
  host_generation: number | null;
}

export interface NodeTasks {
  id: string;
  node_id: string;
  allocation_id: string | null;
  slot_id: string | null;
  kind: string;
  params: Json;
  attempt: Generated<number>;
  slot_generation: number | null;
  state: Generated<'queued' | 'dispatched' | 'running' | 'completed' | 'failed' | 'expired' | 'cancelled'>;
  state_reason: string | null;
  output: NullableJson;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  dispatched_at: NullableTimestamp;
  finished_at: NullableTimestamp;
  expires_at: Timestamp;
  started_at: NullableTimestamp;
  error_code: string | null;
  percent: number | null;
  bytes_per_s: ColumnType<number | null, number | null | undefined, number | null>;
  progress_note: string | null;
  progressed_at: NullableTimestamp;
  workflow_run_id: string | null;
}

export interface Nodes {
  id: string;
  name: string;
  region_name: string;
  pool_id: string;
  gpu_model: string;
  gpu_count: number;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  state: 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'quarantined' | 'draining' | 'retired' | 'removing' | 'deleted';
  state_reason: string | null;
  state_since: GeneratedTimestamp;
  state_deadline_at: NullableTimestamp;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  occupancy: Generated<'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked'>;
  claim_mode: ColumnType<string, never, never>;
  is_held: Generated<boolean>;
  held_reason: string | null;
  health: Generated<'ok' | 'unhealthy' | 'unknown'>;
  health_detail: GeneratedJson;
  booted_at: NullableTimestamp;
  runtime_checked_at: NullableTimestamp;
  is_runtime_passed: Generated<boolean>;
  data_disks: GeneratedJson;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
  private_network: Generated<string>;
  reboot_required: Generated<boolean>;
  has_hardware_change: Generated<boolean>;
  fell_ill_at: NullableTimestamp;
  reboot_wanted_at: NullableTimestamp;
  reboot_reason: string | null;
}

export interface OidcRecords {
  model: string;
  id_hash: Buffer;
  grant_hash: Buffer | null;
  uid_hash: Buffer | null;
  user_code_hash: Buffer | null;
  sealed_payload: Buffer;
  consumed_at: NullableTimestamp;
  expires_at: Timestamp;
}

export interface OidcSigningKeys {
  kid: string;
  algorithm: string;
  sealed_jwk: Buffer;
  created_at: GeneratedTimestamp;
  retired_at: NullableTimestamp;
}

export interface Organizations {
  id: string;
  name: string;
  display_name: string;
  kind: 'personal' | 'enterprise';
  version: Generated<number>;
  created_at: GeneratedTimestamp;
}

export interface OsImageSkus {
  image_name: string;
  sku_name: string;
}

export interface OsImageVersions {
  image_name: string;
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: Int8;
  driver_strategy: 'preinstalled' | 'cloud_init' | 'none';
  readiness_checks: Generated<string[]>;
  source: string;
  digest_authority: string;
  registered_at: GeneratedTimestamp;
  retired_at: NullableTimestamp;
  retired_reason: string | null;
}

export interface OsImages {
  name: string;
  display_name: string;
  os_family: string;
  os_version: string;
}

export interface OutboxEvents {
  id: string;
  xid: Generated<string>;
  event_type: string;
  organization_id: string | null;
  project_id: string | null;
  subject: string;
  data: Json;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  sent_at: NullableTimestamp;
  attempt_count: Generated<number>;
  last_error: string | null;
}

export interface Pools {
  id: string;
  name: string;
  organization_id: string | null;
  created_at: GeneratedTimestamp;
}

export interface ProjectMemberships {
  project_id: string;
  organization_id: string;
  user_id: string;
  role: 'admin' | 'member' | 'viewer';
  created_at: GeneratedTimestamp;
}

export interface Projects {
  id: string;
  organization_id: string;
  name: string;
  display_name: string;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
  deleted_at: NullableTimestamp;
}

export interface Quotas {
  organization_id: string;
  project_id: Generated<string>;
  project_key: ColumnType<string, never, never>;
  gpu_limit: number | null;
  gpu_used: Generated<number>;
  version: Generated<number>;
}

export interface Regions {
  name: string;
  display_name: string;
  enabled: Generated<boolean>;
  disabled_reason: string | null;
  version: Generated<number>;
  wipe_minimum: Generated<'clear' | 'purge'>;
}

export interface SchemaMigrations {
  name: string;
  sha256: string;
  applied_at: GeneratedTimestamp;
}

export interface ServiceAccounts {
  id: string;
  organization_id: string;
  project_id: string;
  name: string;
  description: string | null;
  state: Generated<'enabled' | 'disabled'>;
  secret_hash: Buffer;
  previous_secret_hash: Buffer | null;
  previous_secret_until: NullableTimestamp;
  secret_rotated_at: GeneratedTimestamp;
  last_used_at: NullableTimestamp;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
  deleted_at: NullableTimestamp;
}

export interface SkuCatalog {
  name: string;
  display_name: string;
  vendor: string;
  gpu_model: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  allowed_gpu_counts: number[];
  gpu_hourly_price_minor: Int8;
  currency: string;
  enabled: Generated<boolean>;
  disabled_reason: string | null;
  version: Generated<number>;
}

export interface SkuVmProfiles {
  name: string;
  sku_name: string;
  gpu_count: number;
  vcpu_count: number;
  memory_mib: number;
  is_default: Generated<boolean>;
}

export interface SlotOverrides {
  id: string;
  slot_id: string;
  kind: string;
  generation: number;
  reason: string;
  requested_by: string;
  requested_at: GeneratedTimestamp;
  expires_at: Timestamp;
  confirmed_by: string | null;
  confirmed_at: NullableTimestamp;
}

export interface SshKeys {
  id: string;
  user_id: string;
  name: string;
  algorithm: string;
  public_key: string;
  fingerprint: string;
  last_used_at: NullableTimestamp;
  created_at: GeneratedTimestamp;
}

export interface TenantMemberships {
  organization_id: string;
  user_id: string;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  version: Generated<number>;
  created_at: GeneratedTimestamp;
}

export interface TerminalRecordings {
  session_id: string;
  part: number;
  organization_id: string;
  content: Buffer;
  keep_until: Timestamp;
  created_at: GeneratedTimestamp;
}

export interface TerminalSessions {
  id: string;
  organization_id: string;
  project_id: string;
  allocation_id: string;
  node_id: string;
  kind: 'terminal' | 'console' | 'ssh' | 'forward';
  port: number | null;
  cols: Generated<number>;
  rows: Generated<number>;
  is_writable: boolean;
  is_recorded: Generated<boolean>;
  state: Generated<'ticketed' | 'opening' | 'open' | 'closed'>;
  principal_id: string;
  principal_kind: 'user' | 'service_account';
  principal_name: string;
  credential_id: string | null;
  credential_expires_at: NullableTimestamp;
  ticket_hash: Buffer | null;
  ticket_expires_at: Timestamp;
  used_ticket_hash: Buffer | null;
  gateway_url: string | null;
  gateway_seen_at: NullableTimestamp;
  task_id: string | null;
  source_ip: string | null;
  bytes_in: Generated<number>;
  bytes_out: Generated<number>;
  close_requested_by: string | null;
  end_reason: string | null;
  end_message: string | null;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  opened_at: NullableTimestamp;
  closed_at: NullableTimestamp;
  expires_at: Timestamp;
}

export interface TopologyCandidates {
  id: string;
  task_id: string;
  node_id: string;
  slot_index: number;
  content_hash: string;
  content: Json;
  blockers: Json;
}

export interface TopologyDiscoveries {
  task_id: string;
  node_id: string;
  map_hash: string;
  facts: Json;
  map: Json;
  reboot_required: boolean;
  created_at: GeneratedTimestamp;
}

export interface TrustKeys {
  id: string;
  purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
  state: 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
  state_since: GeneratedTimestamp;
  public_pem: string;
  fingerprint_sha256: string;
  sealed_private_key: Buffer;
  retires_at: NullableTimestamp;
  version: Generated<number>;
  created_at: GeneratedTimestamp;
}

export interface UsageRecords {
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  sku_name: string;
  gpu_count: number;
  gpu_hourly_price_minor: Int8;
  currency: string;
  started_at: Timestamp;
  ended_at: NullableTimestamp;
  cost_minor: ColumnType<number | null, number | null | undefined, number | null>;
  correlation_id: string;
  created_at: GeneratedTimestamp;
}

export interface Users {
  id: string;
  issuer: string;
  subject: string;
  name: string;
  email: string | null;
  email_verified: Generated<boolean>;
  platform_role: 'superadmin' | 'ops' | null;
  state: Generated<'active' | 'disabled'>;
  version: Generated<number>;
  last_seen_at: NullableTimestamp;
  created_at: GeneratedTimestamp;
}

export interface WebSessions {
  id: string;
  user_id: string;
  token_hash: Buffer;
  id_token_sealed: Buffer | null;
  user_agent: string | null;
  source_ip: string | null;
  created_at: GeneratedTimestamp;
  last_seen_at: GeneratedTimestamp;
  idle_expires_at: Timestamp;
  expires_at: Timestamp;
}

export interface WipeProofs {
  id: string;
  node_id: string;
  slot_id: string | null;
  target_id: ColumnType<string, never, never>;
  allocation_id: string | null;
  task_id: string;
  method: string;
  is_verified: boolean;
  evidence: Json;
  correlation_id: string;
  created_at: GeneratedTimestamp;
  disk_serial: string | null;
  sequence: number;
  previous_hash: Buffer;
  proof_hash: Buffer;
}

export interface WorkflowRuns {
  id: string;
  workflow: string;
  workflow_version: number;
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
  steps: string[];
  step: string;
  state: Generated<'pending' | 'running' | 'waiting' | 'done' | 'stuck' | 'cancelled'>;
  state_reason: string | null;
  state_detail: string | null;
  state_since: GeneratedTimestamp;
  attempt: Generated<number>;
  attempt_started_at: NullableTimestamp;
  due_at: GeneratedTimestamp;
  wake_at: NullableTimestamp;
  waiting_for: string | null;
  signal_deadline_at: NullableTimestamp;
  signals_pending: Generated<number>;
  deadline_ms: Int8;
  deadline_at: Timestamp;
  winding: 'cancel' | 'deadline' | 'failure' | null;
  cancel_requested_at: NullableTimestamp;
  cancel_reason: string | null;
  lease_number: Generated<number>;
  lease_owner: string | null;
  lease_until: NullableTimestamp;
  step_count: Generated<number>;
  created_at: GeneratedTimestamp;
  finished_at: NullableTimestamp;
}

export interface WorkflowSignals {
  id: ColumnType<Int8, never, never>;
  run_id: string;
  organization_id: string | null;
  name: string;
  payload: GeneratedJson;
  created_at: GeneratedTimestamp;
  consumed_at: NullableTimestamp;
}

export interface WorkflowSteps {
  run_id: string;
  sequence: number;
  organization_id: string | null;
  step: string;
  attempt: number;
  outcome: 'next' | 'wait' | 'done' | 'stuck' | 'error' | 'timeout' | 'cancelled' | 'retried';
  detail: string | null;
  internal_detail: string | null;
  started_at: Timestamp;
  finished_at: Timestamp;
}

export interface DB {
  access_policies: AccessPolicies;
  allocation_access_grants: AllocationAccessGrants;
  allocation_installs: AllocationInstalls;
  allocation_placements: AllocationPlacements;
  allocation_resource_claims: AllocationResourceClaims;
  allocation_user_data: AllocationUserData;
  allocations: Allocations;
  api_tokens: ApiTokens;
  audit_chains: AuditChains;
  audit_logs: AuditLogs;
  audit_sealer: AuditSealer;
  audit_seals: AuditSeals;
  capacity_counters: CapacityCounters;
  capacity_samples: CapacitySamples;
  disk_ownerships: DiskOwnerships;
  health_breaker: HealthBreaker;
  idempotency_keys: IdempotencyKeys;
  invitations: Invitations;
  log_lines: LogLines;
  node_agents: NodeAgents;
  node_certificates: NodeCertificates;
  node_enrollments: NodeEnrollments;
  node_fabric_partitions: NodeFabricPartitions;
  node_health_overrides: NodeHealthOverrides;
  node_health_reports: NodeHealthReports;
  node_inventories: NodeInventories;
  node_placement_summary: NodePlacementSummary;
  node_resource_slots: NodeResourceSlots;
  node_tasks: NodeTasks;
  nodes: Nodes;
  oidc_records: OidcRecords;
  oidc_signing_keys: OidcSigningKeys;
  organizations: Organizations;
  os_image_skus: OsImageSkus;
  os_image_versions: OsImageVersions;
  os_images: OsImages;
  outbox_events: OutboxEvents;
  pools: Pools;
  project_memberships: ProjectMemberships;
  projects: Projects;
  quotas: Quotas;
  regions: Regions;
  schema_migrations: SchemaMigrations;
  service_accounts: ServiceAccounts;
  sku_catalog: SkuCatalog;
  sku_vm_profiles: SkuVmProfiles;
  slot_overrides: SlotOverrides;
  ssh_keys: SshKeys;
  tenant_memberships: TenantMemberships;
  terminal_recordings: TerminalRecordings;
  terminal_sessions: TerminalSessions;
  topology_candidates: TopologyCandidates;
  topology_discoveries: TopologyDiscoveries;
  trust_keys: TrustKeys;
  usage_records: UsageRecords;
  users: Users;
  web_sessions: WebSessions;
  wipe_proofs: WipeProofs;
  workflow_runs: WorkflowRuns;
  workflow_signals: WorkflowSignals;
  workflow_steps: WorkflowSteps;
}
