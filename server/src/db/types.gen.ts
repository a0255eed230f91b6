// Written by `make gen` from a freshly migrated database; do not edit.
// Times are RFC 3339 strings and int8 is a number, as the parsers in client.ts make them.

export interface AccessPolicies {
  organization_id: string;
  session_idle_s: number;
  session_max_s: number;
  ends_with_sign_in: boolean;
  records_terminals: boolean;
  recording_days: number;
  allows_service_accounts: boolean;
  version: number;
  updated_at: string;
  requires_recording: boolean;
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
  state: 'pending' | 'installed' | 'failed' | 'revoking' | 'revoked';
  state_reason: string | null;
  granted_by: string;
  correlation_id: string;
  created_at: string;
  installed_at: string | null;
  revoked_at: string | null;
  kept_until: string | null;
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
  created_at: string;
  sealed_user_data: Buffer | null;
}

export interface AllocationMoves {
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  number: number;
  from_node_id: string;
  to_node_id: string;
  slot_ids: string[];
  partition_id: number | null;
  scores: unknown;
  task_id: string;
  reason: string;
  created_at: string;
  host_task_id: string | null;
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
  gpu_hourly_price_minor: number;
  currency: string;
  scores: unknown;
  created_at: string;
  hugepages: 'auto' | 'none' | '2M' | '1G' | null;
  numa_policy: 'strict' | 'preferred' | 'none' | null;
}

export interface AllocationResourceClaims {
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  claim_kind: 'slot' | 'node_exclusive';
  node_id: string;
  slot_id: string | null;
  target_id: string;
  gpu_count: number;
  slot_generation: number | null;
  created_at: string;
  released_at: string | null;
  wipe_proof_id: string | null;
  is_proof_verified: boolean | null;
  node_mode: string | null;
  adopted_generation: number | null;
  move_id: string | null;
  live_kind: string | null;
}

export interface AllocationUserData {
  allocation_id: string;
  organization_id: string;
  project_id: string;
  updated_at: string;
  sealed_user_data: Buffer;
}

export interface Allocations {
  id: string;
  organization_id: string;
  project_id: string;
  name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  sku_name: string;
  region_name: string;
  image_name: string | null;
  image_digest: string | null;
  gpu_count: number;
  node_id: string | null;
  state: 'requested' | 'provisioning' | 'active' | 'releasing' | 'released' | 'failed' | 'release_failed';
  claimable_as: string | null;
  state_reason: string | null;
  state_since: string;
  state_deadline_at: string | null;
  requested_by: string;
  ssh_key_ids: string[];
  tags: unknown;
  is_protected: boolean;
  max_duration_s: number | null;
  release_at: string | null;
  activated_at: string | null;
  release_requested_at: string | null;
  released_at: string | null;
  failure_reason: string | null;
  correlation_id: string;
  version: number;
  created_at: string;
  power_state: 'on' | 'stopping' | 'off' | 'starting' | 'rebooting' | 'reinstalling' | 'unknown' | null;
  power_since: string | null;
  power_reason: string | null;
  power_run_id: string | null;
  power_grace_s: number | null;
  install_number: number;
  needs_live: boolean | null;
  storage: 'raw' | 'formatted';
  network: 'private_nat' | null;
  charge_until: string | null;
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
  expires_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export interface AuditChains {
  chain: string;
  sequence: number;
  hash: Buffer;
  sealed_at: string;
  headed_sequence: number;
}

export interface AuditLogs {
  id: string;
  xid: string;
  created_at: string;
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
  metadata: unknown;
}

export interface AuditSealer {
  singleton: boolean;
  sealed_xid: string;
  sealed_id: string;
  heads_line: number;
  heads_hash: Buffer;
  lost_rows: number;
  lost_line: number;
  lost_at: string | null;
  compared_at: string | null;
  compared_in: string | null;
}

export interface AuditSeals {
  chain: string;
  sequence: number;
  audit_log_id: string;
  hash: Buffer;
  sealed_at: string;
}

export interface AuditSegments {
  chain: string;
  first_sequence: number;
  last_sequence: number;
  previous_hash: Buffer;
  last_hash: Buffer;
  first_row_at: string;
  last_row_at: string;
  file_name: string;
  file_sha256: Buffer;
  created_at: string;
  removed_at: string | null;
}

export interface Backups {
  id: string;
  taken_at: string;
  location: string;
  size_bytes: number | null;
  recorded_at: string;
  recorded_by: string;
  correlation_id: string;
}

export interface CapacityCounters {
  region_name: string;
  gpu_model: string;
  pool_organization_id: string;
  counts: unknown;
  counted_at: string;
}

export interface CapacitySamples {
  sampled_at: string;
  region_name: string;
  gpu_model: string;
  delivered_gpus: number;
  healthy_gpus: number;
  reserved_gpus: number;
  active_gpus: number;
  free_gpus: number;
}

export interface ClockGuard {
  id: number;
  seen_at: string;
  hold_since: string | null;
  reason: string | null;
  jump_ms: number | null;
  ended_at: string | null;
  ended_by: string | null;
  version: number;
}

export interface DiskOwnerships {
  id: string;
  node_id: string;
  region_name: string;
  serial: string;
  device: string;
  state: 'approved' | 'wiping' | 'blocked' | 'owned' | 'excluded' | 'revoked';
  state_reason: string | null;
  state_since: string;
  approved_by: string;
  reason: string;
  wipe_proof_id: string | null;
  version: number;
  correlation_id: string;
  created_at: string;
  size_bytes: number | null;
}

export interface GroupAccessBlocks {
  organization_id: string;
  project_id: string;
  project_key: string | null;
  user_id: string;
  created_at: string;
}

export interface GroupMappings {
  id: string;
  group_name: string;
  organization_id: string;
  project_id: string;
  project_key: string | null;
  role: 'admin' | 'member' | 'viewer';
  created_at: string;
}

export interface HealthBreaker {
  id: number;
  is_tripped: boolean;
  tripped_at: string | null;
  reason: string | null;
  reset_by: string | null;
  reset_at: string | null;
  version: number;
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
  created_at: string;
  expires_at: string;
}

export interface Invitations {
  id: string;
  organization_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  token_hash: Buffer;
  state: 'pending' | 'accepted' | 'revoked';
  invited_by: string;
  expires_at: string;
  accepted_at: string | null;
  accepted_by: string | null;
  created_at: string;
}

export interface ListenerRequests {
  id: string;
  names: string[];
  csr_pem: string;
  created_at: string;
  answered_at: string | null;
  certificate_pem: string | null;
  ca_key_id: string | null;
  refusal: string | null;
}

export interface LogLines {
  logged_at: string;
  service: string;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  host_name: string;
  node_id: string | null;
  level: string;
  message: string;
  correlation_id: string | null;
  error_code: string | null;
  fields: unknown;
  origin: string;
  number: number;
}

export interface NodeAgents {
  node_id: string;
  last_seen_at: string;
  agent_version: string;
  boot_id: string;
  booted_at: string;
  kinds: string[];
  clock_skew_ms: number;
  trust_version: string | null;
  database_skew_ms: number | null;
}

export interface NodeCertificates {
  serial_number: string;
  node_id: string;
  ca_key_id: string;
  enrollment_id: string;
  fingerprint_sha256: string;
  not_before: string;
  not_after: string;
  revoked_at: string | null;
  revoked_reason: string | null;
  created_at: string;
}

export interface NodeEnrollments {
  id: string;
  node_id: string;
  token_hash: Buffer;
  created_by: string;
  correlation_id: string;
  created_at: string;
  expires_at: string;
  used_at: string | null;
  revoked_at: string | null;
  refused_hosts: number;
  kept_until: string | null;
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
  alerts: unknown;
  muted_alert_ids: string[];
  reason: string;
  created_by: string;
  created_at: string;
  expires_at: string | null;
}

export interface NodeHealthReports {
  node_id: string;
  source: string;
  observed_at: string;
  received_at: string;
  successes: unknown;
  alerts: unknown;
}

export interface NodeHosts {
  node_id: string;
  created_at: string;
  product_serial: string | null;
  product_uuid: string | null;
  machine_id: string | null;
  named: string[];
  bound_at: string | null;
  ended_at: string | null;
  ended_reason: string | null;
}

export interface NodeInventories {
  node_id: string;
  observed_at: string;
  received_at: string;
  boot_id: string;
  content: unknown;
  findings: unknown;
  changed_at: string;
}

export interface NodePlacementSummary {
  node_id: string;
  region_name: string;
  gpu_model: string;
  pool_organization_id: string;
  capacity_mode: string;
  occupancy: string;
  is_schedulable: boolean;
  free_mask: number;
  free_count: number;
  largest_set: number;
  key_1: number | null;
  key_2: number | null;
  key_4: number | null;
  key_8: number | null;
  key_node: number | null;
  updated_at: string;
}

export interface NodeResourceSlots {
  id: string;
  node_id: string;
  region_name: string;
  host_role: string;
  slot_index: number;
  parent_slot_id: string | null;
  approval: 'approved' | 'disabled' | 'needs_reapproval';
  status: 'available' | 'reserved' | 'in_use' | 'cleaning' | 'cleanup_blocked' | 'quarantined';
  claim_mode: string | null;
  status_reason: string | null;
  status_since: string;
  health: 'ok' | 'unhealthy' | 'unknown';
  health_detail: unknown;
  generation: number;
  gpu_pci_address: string | null;
  gpu_uuid: string | null;
  module_id: number | null;
  numa_node: number | null;
  nvme_serial: string | null;
  nvme_device: string | null;
  mac_address: string | null;
  private_ip: string | null;
  network_id: string;
  fabric_claim_mode: 'per_slot_vf' | null;
  fabric_vf_pci_address: string | null;
  wipe_method: 'nvme_sanitize' | 'nvme_format' | 'blkdiscard' | null;
  last_claimed_at: string | null;
  wipe_proof_id: string | null;
  wiped_at: string | null;
  approved_by: string | null;
  approved_at: string | null;
  discovery_task_id: string | null;
  version: number;
  created_at: string;
  content_hash: string | null;
  content: unknown;
  drift: unknown;
  host_generation: number | null;
  wipe_outcome: 'verified' | 'overridden' | null;
  needs_override: boolean | null;
  quarantine_reason: string | null;
}

export interface NodeTasks {
  id: string;
  node_id: string;
  allocation_id: string | null;
  slot_id: string | null;
  kind: string;
  params: unknown;
  attempt: number;
  slot_generation: number | null;
  state: 'queued' | 'dispatched' | 'running' | 'completed' | 'failed' | 'expired' | 'unknown' | 'cancelled';
  state_reason: string | null;
  output: unknown;
  correlation_id: string;
  created_at: string;
  dispatched_at: string | null;
  finished_at: string | null;
  expires_at: string;
  started_at: string | null;
  error_code: string | null;
  percent: number | null;
  bytes_per_s: number | null;
  progress_note: string | null;
  progressed_at: string | null;
  workflow_run_id: string | null;
  sealed_user_data: Buffer | null;
  kept_until: string | null;
}

export interface Nodes {
  id: string;
  name: string;
  region_name: string;
  pool_id: string;
  gpu_model: string;
  gpu_count: number;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  state: 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'draining' | 'retired' | 'deleted';
  state_reason: string | null;
  state_since: string;
  state_deadline_at: string | null;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  occupancy: 'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked';
  claim_mode: string | null;
  is_held: boolean;
  held_reason: string | null;
  health: 'ok' | 'unhealthy' | 'unknown';
  health_detail: unknown;
  booted_at: string | null;
  runtime_checked_at: string | null;
  is_runtime_passed: boolean;
  data_disks: unknown;
  version: number;
  created_at: string;
  private_network: string;
  reboot_required: boolean;
  has_hardware_change: boolean;
  fell_ill_at: string | null;
  reboot_wanted_at: string | null;
  reboot_reason: string | null;
  launch_failures: number;
  launch_failed_at: string | null;
  restore_hold_id: string | null;
  needs_live: boolean | null;
  host_vcpu_count: number | null;
  host_memory_mib: number | null;
  host_hugepages_mib: number | null;
  host_numa_nodes: number | null;
  gpus_found: unknown;
  gpu_model_conflict: string | null;
  host_pages: unknown;
  disks_found: unknown;
  host_boot_kinds: string[] | null;
}

export interface OidcRecords {
  model: string;
  id_hash: Buffer;
  grant_hash: Buffer | null;
  uid_hash: Buffer | null;
  user_code_hash: Buffer | null;
  sealed_payload: Buffer;
  consumed_at: string | null;
  expires_at: string;
}

export interface OidcSigningKeys {
  kid: string;
  algorithm: 'RS256';
  sealed_jwk: Buffer;
  created_at: string;
  retired_at: string | null;
}

export interface Organizations {
  id: string;
  name: string;
  display_name: string;
  kind: 'personal' | 'enterprise';
  version: number;
  created_at: string;
  created_by: string | null;
}

export interface OsImageAvailability {
  image_name: string;
  digest: string;
  region_name: string;
  node_id: string | null;
  available_since: string | null;
  failed_at: string | null;
  failure: string | null;
}

export interface OsImageSkus {
  image_name: string;
  sku_name: string;
  capacity_shape: 'gpu_slice';
}

export interface OsImageVersions {
  image_name: string;
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: number;
  driver_strategy: 'preinstalled' | 'none';
  readiness_checks: string[];
  source: string;
  digest_authority: string;
  registered_at: string;
  retired_at: string | null;
  retired_reason: string | null;
  boot_kind: 'uefi' | 'kernel';
}

export interface OsImages {
  name: string;
  display_name: string;
  os_family: string;
  os_version: string;
  channel: 'stable' | 'candidate';
  trust: 'unverified' | 'verified';
  version: number;
  retired_at: string | null;
}

export interface OutboxEvents {
  id: string;
  xid: string;
  event_type: string;
  organization_id: string | null;
  project_id: string | null;
  subject: string;
  data: unknown;
  correlation_id: string;
  created_at: string;
  sent_at: string | null;
  attempt_count: number;
  last_error: string | null;
  writer_xid: string | null;
}

export interface PlatformKeyHolders {
  process_id: string;
  kind: 'platform' | 'trust';
  service: string;
  versions: number[];
  sealing_version: number;
  seen_at: string;
}

export interface PlatformKeys {
  kind: 'platform' | 'trust';
  version: number;
  state: 'available' | 'active' | 'retiring' | 'retired';
  state_since: string;
  check_value: Buffer;
  created_at: string;
}

export interface PlatformSecrets {
  name: string;
  sealed_secret: Buffer;
  created_at: string;
}

export interface Pools {
  id: string;
  name: string;
  organization_id: string | null;
  created_at: string;
  purpose: string | null;
  version: number;
  retired_at: string | null;
  is_live: boolean;
}

export interface ProjectMemberships {
  project_id: string;
  organization_id: string;
  user_id: string;
  role: 'admin' | 'member' | 'viewer';
  created_at: string;
  source: 'manual' | 'group';
}

export interface Projects {
  id: string;
  organization_id: string;
  name: string;
  display_name: string;
  version: number;
  created_at: string;
  deleted_at: string | null;
  records_terminals: boolean;
  requires_recording: boolean;
}

export interface QuotaRequests {
  id: string;
  organization_id: string;
  project_id: string;
  project_key: string | null;
  gpu_limit: number;
  reason: string;
  state: 'open' | 'approved' | 'rejected' | 'withdrawn';
  granted_gpu_limit: number | null;
  decision_reason: string | null;
  requested_by: string;
  decided_by: string | null;
  decided_at: string | null;
  created_at: string;
}

export interface Quotas {
  organization_id: string;
  project_id: string;
  project_key: string | null;
  gpu_limit: number | null;
  gpu_used: number;
  version: number;
}

export interface Regions {
  name: string;
  display_name: string;
  enabled: boolean;
  disabled_reason: string | null;
  version: number;
  wipe_minimum: 'clear' | 'purge';
  allows_wipe_override: boolean;
  retired_at: string | null;
  is_live: boolean;
  fabric_isolation: 'none';
}

export interface Restores {
  id: string;
  began_at: string;
  began_by: string;
  reason: string;
  older_than: string;
  ended: unknown;
  lost_changes: unknown;
  correlation_id: string;
  identity_changes: unknown;
}

export interface SchemaMigrations {
  name: string;
  sha256: string;
  applied_at: string;
}

export interface ServiceAccounts {
  id: string;
  organization_id: string;
  project_id: string;
  name: string;
  description: string | null;
  state: 'enabled' | 'disabled';
  secret_hash: Buffer;
  previous_secret_hash: Buffer | null;
  previous_secret_until: string | null;
  secret_rotated_at: string;
  last_used_at: string | null;
  version: number;
  created_at: string;
  deleted_at: string | null;
}

export interface SignUpRequests {
  id: string;
  user_id: string;
  state: 'pending' | 'approved' | 'rejected';
  reason: string | null;
  decided_by: string | null;
  decided_at: string | null;
  created_at: string;
}

export interface SitePolicy {
  is_only: boolean;
  sign_up: 'closed' | 'invited' | 'approved' | 'open';
  mail_domains: string[];
  default_gpu_limit: number | null;
  contact: string | null;
  version: number;
  updated_at: string;
}

export interface SkuCatalog {
  name: string;
  display_name: string;
  vendor: string;
  gpu_model: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  allowed_gpu_counts: number[];
  enabled: boolean;
  disabled_reason: string | null;
  version: number;
  retired_at: string | null;
  is_live: boolean;
  gpu_ids: string[];
}

export interface SkuPrices {
  id: string;
  sku_name: string;
  currency: string;
  gpu_hourly_price_minor: number;
  valid_from: string;
  created_by: string | null;
  correlation_id: string;
  created_at: string;
  cancelled_at: string | null;
  ended_at: string | null;
}

export interface SkuVmProfiles {
  name: string;
  sku_name: string;
  gpu_count: number;
  vcpu_count: number;
  memory_mib: number;
  is_default: boolean;
  version: number;
  retired_at: string | null;
  hugepages: 'auto' | 'none' | '2M' | '1G';
  numa_policy: 'strict' | 'preferred' | 'none';
}

export interface SlotOverrides {
  id: string;
  slot_id: string;
  kind: 'mark_wiped';
  generation: number;
  reason: string;
  requested_by: string;
  requested_at: string;
  expires_at: string;
  confirmed_by: string | null;
  confirmed_at: string | null;
  kept_until: string | null;
}

export interface SshKeys {
  id: string;
  user_id: string;
  name: string;
  algorithm: string;
  public_key: string;
  fingerprint: string;
  last_used_at: string | null;
  created_at: string;
}

export interface TenantMemberships {
  organization_id: string;
  user_id: string;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  version: number;
  created_at: string;
  source: 'manual' | 'group';
}

export interface TerminalRecordings {
  session_id: string;
  part: number;
  organization_id: string;
  sealed_content: Buffer;
  keep_until: string;
  created_at: string;
}

export interface TerminalSessions {
  id: string;
  organization_id: string;
  project_id: string;
  allocation_id: string;
  node_id: string;
  kind: 'terminal' | 'console' | 'ssh' | 'forward';
  port: number | null;
  cols: number;
  rows: number;
  is_writable: boolean;
  is_recorded: boolean;
  state: 'ticketed' | 'opening' | 'open' | 'closed';
  principal_id: string;
  principal_kind: 'user' | 'service_account';
  principal_name: string;
  credential_id: string | null;
  credential_expires_at: string | null;
  ticket_hash: Buffer | null;
  ticket_expires_at: string;
  used_ticket_hash: Buffer | null;
  gateway_url: string | null;
  gateway_seen_at: string | null;
  task_id: string | null;
  source_ip: string | null;
  bytes_in: number;
  bytes_out: number;
  close_requested_by: string | null;
  end_reason: string | null;
  end_message: string | null;
  correlation_id: string;
  created_at: string;
  opened_at: string | null;
  closed_at: string | null;
  expires_at: string;
}

export interface TopologyCandidates {
  id: string;
  task_id: string;
  node_id: string;
  slot_index: number;
  content_hash: string;
  content: unknown;
  blockers: unknown;
}

export interface TopologyDiscoveries {
  task_id: string;
  node_id: string;
  map_hash: string;
  facts: unknown;
  map: unknown;
  reboot_required: boolean;
  created_at: string;
}

export interface TrustKeys {
  id: string;
  purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
  state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
  state_since: string;
  public_pem: string | null;
  fingerprint_sha256: string | null;
  sealed_private_key: Buffer | null;
  retires_at: string | null;
  version: number;
  created_at: string;
}

export interface UsageRecords {
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  sku_name: string;
  gpu_count: number;
  gpu_hourly_price_minor: number;
  currency: string;
  started_at: string;
  ended_at: string | null;
  cost_minor: number | null;
  correlation_id: string;
  created_at: string;
}

export interface Users {
  id: string;
  issuer: string;
  subject: string;
  name: string;
  email: string | null;
  email_verified: boolean;
  platform_role: 'superadmin' | 'ops' | null;
  state: 'active' | 'disabled' | 'pending';
  version: number;
  last_seen_at: string | null;
  created_at: string;
  groups: string[] | null;
  groups_at: string | null;
}

export interface WebSessions {
  id: string;
  user_id: string;
  token_hash: Buffer;
  id_token_sealed: Buffer | null;
  user_agent: string | null;
  source_ip: string | null;
  created_at: string;
  last_seen_at: string;
  idle_expires_at: string;
  expires_at: string;
  auth_time: string | null;
}

export interface WipeChainCuts {
  target_id: string;
  sequence: number;
  proof_hash: Buffer;
  last_proof_at: string;
  cut_at: string;
}

export interface WipeProofs {
  id: string;
  node_id: string;
  slot_id: string | null;
  target_id: string | null;
  allocation_id: string | null;
  task_id: string;
  method: string;
  is_verified: boolean;
  evidence: unknown;
  correlation_id: string;
  created_at: string;
  disk_serial: string | null;
  sequence: number;
  previous_hash: Buffer;
  proof_hash: Buffer;
  outcome: 'verified' | 'overridden' | 'failed';
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
  state: 'pending' | 'running' | 'waiting' | 'done' | 'stuck' | 'cancelled';
  state_reason: string | null;
  state_detail: string | null;
  state_since: string;
  attempt: number;
  attempt_started_at: string | null;
  due_at: string;
  wake_at: string | null;
  waiting_for: string | null;
  signal_deadline_at: string | null;
  signals_pending: number;
  deadline_ms: number;
  deadline_at: string;
  winding: 'cancel' | 'deadline' | 'failure' | null;
  cancel_requested_at: string | null;
  cancel_reason: string | null;
  lease_number: number;
  lease_owner: string | null;
  lease_until: string | null;
  step_count: number;
  created_at: string;
  finished_at: string | null;
  workers_lost: number;
  workers_killed: number;
  kept_until: string | null;
}

export interface WorkflowSignals {
  id: number;
  run_id: string;
  organization_id: string | null;
  name: string;
  payload: unknown;
  created_at: string;
  consumed_at: string | null;
}

export interface WorkflowSteps {
  run_id: string;
  sequence: number;
  organization_id: string | null;
  step: string;
  attempt: number;
  outcome: 'next' | 'wait' | 'done' | 'failed' | 'stuck' | 'error' | 'timeout' | 'cancelled' | 'retried';
  detail: string | null;
  internal_detail: string | null;
  started_at: string;
  finished_at: string;
}
