// Written by `make gen` from contract/. Do not edit.

export type AccessGrant = {
  /** ID of the access grant. */
  id: string;
  /** ID of the allocation. */
  allocation_id: string;
  /** Owner of the key. */
  user_id: string;
  user_name: string;
  /** ID of the ssh key. */
  ssh_key_id: string;
  /** SHA256:… as ssh-keygen -l prints it. */
  fingerprint: string;
  state: 'pending' | 'installed' | 'failed' | 'revoking' | 'revoked';
  state_reason: string | null;
  granted_by: string;
  correlation_id: string;
  /** When it was granted. */
  created_at: string;
  /** When it was installed on the VM. */
  installed_at: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
};

export type AccessPolicy = {
  /** ID of the organization. */
  organization_id: string;
  /** A session without traffic in either direction ends after this time. */
  session_idle_s: number;
  /** A session ends after this time at the latest. */
  session_max_s: number;
  /** Sessions end when the sign-in that opened them expires. Tokens that expire or are revoked always end theirs. */
  ends_with_sign_in: boolean;
  /** Terminal output is recorded. The user is informed when a terminal opens. */
  records_terminals: boolean;
  /** Sessions that cannot be recorded are refused: SSH, forwarded ports and serial consoles. Terminals are recorded. Open sessions without recording end. */
  requires_recording: boolean;
  /** How long recordings are kept. */
  recording_days: number;
  /** Whether service accounts may open sessions. They have no SSH keys, so they cannot have grants. */
  allows_service_accounts: boolean;
  version: number;
  /** When it was last changed. */
  updated_at: string;
};

export type Action = {
  name: string;
  allowed: boolean;
  /** Why the action is not allowed, as a sentence. */
  reason: string | null;
};

export type AdminAllocation = {
  allocation: Allocation;
  /** ID of the organization. */
  organization_id: string;
  node_id: string | null;
  claims: {
    /** ID of the claim. */
    id: string;
    claim_kind: 'slot' | 'node_exclusive';
    /** ID of the node. */
    node_id: string;
    slot_id: string | null;
    gpu_count: number;
    /** When it was taken. */
    created_at: string;
    /** When a wipe proof released it. */
    released_at: string | null;
    wipe_proof_id: string | null;
  }[];
};

/** An image as operators see it. */
export type AdminOsImage = {
  /** Image slug. */
  name: string;
  display_name: string;
  os_family: string;
  os_version: string;
  /** Digest of the file that hosts download. */
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: number;
  /** How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can. */
  boot_kind: 'uefi' | 'kernel';
  /** Whether the GPU driver is in the image. Nothing installs one later. */
  driver_strategy: 'preinstalled' | 'none';
  /** Readiness checks that the image runs in the guest OS; all must pass. */
  readiness_checks: string[];
  /** Source of the image. */
  source: string;
  /** Authority for the digest of this image. */
  digest_authority: string;
  /** SKUs of slices that can use the image. */
  sku_names: string[];
  /** Only a stable image is chosen for a launch that names none. */
  channel: 'stable' | 'candidate';
  /** Only a verified image is chosen for a launch that names none. */
  trust: 'unverified' | 'verified';
  /** Whether it has a version that is not retired; launches use the newest. */
  enabled: boolean;
  /** Regions where it can be the default: a launch that names no image gets the first by name. It is stable and verified, and a host of the region has fetched it. */
  default_regions: string[];
  /** Newest first, up to 20. */
  versions: OsImageVersion[];
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
  /** Why it cannot be the default (everywhere or in one region), and what to do. */
  default_blockers: string[];
  /** Hosts of its slice SKUs that have reported their boot kinds. */
  hosts_checked: number;
  /** Of these, hosts that cannot start its boot kind; it is not placed on them. */
  hosts_unable: number;
  /** Hosts that cannot start it, with the reason, up to 20. */
  unable: {
    /** ID of the node. */
    node_id: string;
    node_name: string;
    reason: string;
  }[];
};

/** A region as operators see it. */
export type AdminRegion = {
  /** Region code. */
  name: string;
  display_name: string;
  enabled: boolean;
  /** Why the region is disabled, as a sentence. */
  disabled_reason: string | null;
  /** Minimum wipe level between two tenants, in terms of NIST SP 800-88. */
  wipe_minimum: 'clear' | 'purge';
  /** Whether a wipe that two operators accept without proof makes a slot schedulable. */
  allows_wipe_override: boolean;
  /** Provider that keeps tenants apart on the fabric. With `none`, the fabric function of a slot is not passed into its VM. */
  fabric_isolation: 'none';
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
  /** Allocations that are neither released nor failed. While there are any it cannot be retired. */
  allocation_count: number;
};

/** A SKU as operators see it. */
export type AdminSku = {
  /** SKU code. */
  name: string;
  display_name: string;
  vendor: string;
  gpu_model: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  allowed_gpu_counts: number[];
  /** Parts that each slot needs to serve it. They follow from the shape and cannot be set: a VM needs all of them, a whole node none. */
  required_parts: ('gpu' | 'nvme' | 'mac' | 'private_ip' | 'fabric_vf')[];
  gpu_hourly_price: Money | null;
  vm_profiles: {
    name: string;
    gpu_count: number;
    vcpu_count: number;
    memory_mib: number;
    is_default: boolean;
  }[];
  /** PCI IDs that the site names as this model. */
  gpu_ids: string[];
  /** Whether operators enabled it. */
  enabled: boolean;
  /** Shown to tenants while disabled. */
  disabled_reason: string | null;
  /** Why it cannot be launched although it is enabled. */
  blockers: string[];
  /** Allocations that are neither released nor failed. While there are any it cannot be retired. */
  allocation_count: number;
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
};

/** A VM profile as operators see it, compared with the hosts it would run on. */
export type AdminVmProfile = {
  /** Name of the VM profile, unique in the catalog. */
  name: string;
  /** Lower-case name, unique where it is used. */
  sku_name: string;
  gpu_count: number;
  vcpu_count: number;
  memory_mib: number;
  /** Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none. */
  hugepages: 'auto' | 'none' | '2M' | '1G';
  /** strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node. */
  numa_policy: 'strict' | 'preferred' | 'none';
  is_default: boolean;
  /** Hosts of the GPU model that a discovery has measured. */
  hosts_checked: number;
  /** Of these, hosts that cannot hold the VM; it is not placed on them. */
  hosts_too_small: number;
  /** Hosts that cannot hold the VM, with the reason, up to 20. */
  too_small: {
    /** ID of the node. */
    node_id: string;
    node_name: string;
    reason: string;
  }[];
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
};

export type Allocation = {
  /** ID of the allocation. */
  id: string;
  /** ID of the project. */
  project_id: string;
  /** Unique among the live allocations of the project. */
  name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  sku_name: string;
  region_name: string;
  /** Null for bare metal, which keeps the operating system of its node. */
  image_name: string | null;
  /** The version of the image, pinned at launch. */
  image_digest: string | null;
  gpu_count: number;
  placement: {
    gpu_count: number;
    vm_profile: string | null;
    vcpu_count: number | null;
    memory_mib: number | null;
    gpu_hourly_price: Money;
  };
  /** As chosen at launch; a reinstallation keeps it. */
  storage: 'raw' | 'formatted';
  /** Network of a slice; null for bare metal, which uses that of its node. */
  network: 'private_nat' | null;
  fabric: FabricOffer;
  state: 'requested' | 'provisioning' | 'active' | 'releasing' | 'released' | 'failed' | 'release_failed';
  state_reason: string | null;
  /** When this state began. */
  state_since: string;
  /** Deadline of this state. */
  state_deadline_at: string | null;
  /** Null when no work is in progress, and in responses to changes. */
  progress: AllocationProgress | null;
  /** Power of an active slice; null otherwise. */
  power: AllocationPower | null;
  /** Problems of the host that affect an active allocation, oldest first. */
  notices: AllocationNotice[];
  ssh_key_ids: string[];
  /** SSH access of an active allocation; null otherwise, in lists and in responses to changes. */
  ssh: {
    username: string;
    /** Address in the private network of the slice. */
    address: string | null;
    port: number;
    /** Type and key, as in known_hosts. */
    host_key: string;
  } | null;
  /** Your own labels. */
  tags: Record<string, string>;
  /** Release is refused until protection is removed. */
  is_protected: boolean;
  max_duration_s: number | null;
  /** When it is released automatically. */
  release_at: string | null;
  /** When charging began. */
  activated_at: string | null;
  /** When charging ended. */
  release_requested_at: string | null;
  /** When the wipe was verified. */
  released_at: string | null;
  cost_so_far: Money;
  requested_by: string;
  correlation_id: string;
  version: number;
  /** When it was requested. */
  created_at: string;
  actions: Action[];
};

export type AllocationNotice = {
  message: string;
  /** When the problem was first seen. */
  since: string;
};

/** Power of an active slice; null otherwise. */
export type AllocationPower = {
  state: 'on' | 'stopping' | 'off' | 'starting' | 'rebooting' | 'reinstalling' | 'unknown';
  /** Why the last power change failed. */
  reason: string | null;
  /** When this state began. */
  since: string;
  /** The run that is changing it; null when none is. */
  workflow_run_id: string | null;
  /** Always true: the GPUs stay allocated until the release. */
  is_charged: boolean;
  /** Number of reinstallations. */
  install_number: number;
};

/** Null when no work is in progress, and in responses to changes. */
export type AllocationProgress = {
  workflow: string;
  /** Label of the workflow. */
  workflow_label: string;
  phase: 'launch' | 'power' | 'access' | 'cleanup' | 'repair';
  /** Key of the current step. */
  step: string;
  /** Label of the step. */
  label: string;
  /** Progress of the step; null if unknown. */
  percent: number | null;
  /** Usual duration: the median of recent runs, or a default. Null for steps without host work. */
  expected_s: number | null;
  /** Latest report of the agent. */
  note: string | null;
  /** From 1. */
  step_number: number;
  step_count: number;
  bytes_per_s: number | null;
  /** When the step started. */
  started_at: string;
  /** Progress of all steps, by their usual duration; below 100 until the end. */
  overall_percent: number;
  /** Every step in order; empty in lists. */
  steps: AllocationProgressStep[];
};

export type AllocationProgressStep = {
  key: string;
  state: 'pending' | 'running' | 'done' | 'failed' | 'skipped';
  /** When the step started; null before that. */
  started_at: string | null;
  /** Duration of a step that ended. */
  took_ms: number | null;
  /** Label of the step. */
  label: string;
  /** Progress of the step; null if unknown. */
  percent: number | null;
  /** Usual duration: the median of recent runs, or a default. Null for steps without host work. */
  expected_s: number | null;
  /** Latest report of the agent. */
  note: string | null;
};

export type ApiToken = {
  /** ID of the api token. */
  id: string;
  name: string;
  /** The first characters, for identification. */
  token_prefix: string;
  scopes: string[];
  /** The only project it can access; null for all projects of its owner. */
  project_id: string | null;
  /** When it expires. */
  expires_at: string;
  /** Last use, to the minute. */
  last_used_at: string | null;
  /** When it was revoked. */
  revoked_at: string | null;
  /** When it was created. */
  created_at: string;
};

export type AuditChainReport = {
  /** Organization id, or `platform`. */
  chain: string;
  rows_sealed: number;
  rows_unsealed: number;
  /** Rows that are not sealed yet, oldest first, at most 100. */
  unsealed_ids: string[];
  head_hash: string | null;
  findings: {
    kind: 'edited' | 'deleted' | 'reordered' | 'truncated' | 'head_forged' | 'heads_missing';
    sequence: number | null;
    audit_log_id: string | null;
    detail: string;
  }[];
};

export type AuditLog = {
  /** ID of the audit log. */
  id: string;
  /** When it happened. */
  created_at: string;
  /** ID of the organization. */
  organization_id: string | null;
  project_id: string | null;
  actor_kind: 'user' | 'service_account' | 'system' | 'anonymous';
  actor_id: string | null;
  /** The role that the decision used. */
  actor_role: string | null;
  source_ip: string | null;
  user_agent: string | null;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  result: 'success' | 'failure' | 'denied';
  error_code: string | null;
  /** The deciding role and permission, or the reason of the refusal. */
  policy: string;
  correlation_id: string;
  /** Selected facts of the request; never secrets. */
  metadata: Record<string, unknown>;
  /** Whether the row is in the hash chain yet. */
  sealed: boolean;
};

export type Capacity = {
  region_name: string;
  sku_name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  /** GPUs that can be launched now. */
  available_gpus: number;
  /** Largest GPU count that one allocation can get now. */
  largest_set: number;
  /** The next known increase; null where none is known. No promise: allocations end earlier or are extended, and others launch. */
  expected: ExpectedCapacity | null;
  /** When it was counted; at most a few seconds ago. */
  counted_at: string;
};

export type CapacitySample = {
  /** When it was counted. */
  sampled_at: string;
  region_name: string;
  gpu_model: string;
  /** GPUs of nodes in service. */
  delivered_gpus: number;
  healthy_gpus: number;
  /** GPUs claimed by allocations. */
  reserved_gpus: number;
  /** GPUs of active allocations. */
  active_gpus: number;
  /** GPUs that can be launched now. */
  free_gpus: number;
};

export type Discovery = {
  task: NodeTask;
  map: {
    map_hash: string;
    /** When discovery completed. */
    created_at: string;
    candidates: {
      /** ID of the candidate. */
      id: string;
      slot_index: number;
      content_hash: string;
      content: {
        slot_index: number;
        gpu_pci_address: string | null;
        gpu_uuid: string | null;
        gpu_vendor_device: string | null;
        gpu_model: string | null;
        module_id: number | null;
        mig_mode: 'enabled' | 'disabled' | null;
        mediated_devices: number;
        numa_node: number | null;
        upstream_port: string | null;
        iommu_group: number | null;
        iommu_group_other_devices: string[];
        nvme_serial: string | null;
        nvme_device: string | null;
        nvme_size_bytes: number | null;
        nvme_mounts: string[];
        nvme_holders: string[];
        nvme_filesystems: string[];
        wipe_method: 'nvme_sanitize' | 'nvme_format' | 'blkdiscard' | null;
        fabric_parent_pci_address: string | null;
        fabric_claim_mode: 'per_slot_vf' | 'shared' | null;
        fabric_vf_pci_address: string | null;
        fabric_vf_guid: string | null;
        mac_address: string | null;
        private_ip: string | null;
        ovs_port: string | null;
        blockers: {
          /** Stable code, e.g. nvme_mounted. */
          code: string;
          /** The field of the candidate it concerns. */
          field: string;
          /** The blocker and what would fix it. */
          message: string;
        }[];
      };
      blockers: {
        /** Stable code, e.g. nvme_mounted. */
        code: string;
        /** The field of the candidate it concerns. */
        field: string;
        /** The blocker and what would fix it. */
        message: string;
      }[];
      /** Approved slot that matches the candidate. */
      slot_id: string | null;
      /** Differences from the approved slot. */
      approval_status: 'new' | 'approved' | 'changed';
      diff: Record<string, {
        approved: unknown;
        found: unknown;
      }>;
    }[];
    partitions: {
      partition_id: number;
      module_ids: number[];
      is_active: boolean;
    }[];
    prerequisites: {
      name: string;
      is_met: boolean;
      needs_reboot: boolean;
      /** What discovery found and, if the prerequisite is not met, what to do. */
      message: string;
    }[];
    reboot_required: boolean;
  } | null;
};

export type DiskOwnership = {
  /** ID of the disk ownership. */
  id: string;
  /** ID of the node. */
  node_id: string;
  serial: string;
  device: string;
  state: 'approved' | 'wiping' | 'blocked' | 'owned' | 'excluded' | 'revoked';
  /** The blocker. */
  state_reason: string | null;
  /** When this state began. */
  state_since: string;
  approved_by: string;
  reason: string;
  wipe_proof_id: string | null;
  version: number;
  /** When it was approved. */
  created_at: string;
};

export type Enrollment = {
  /** ID of the enrollment. */
  id: string;
  /** ID of the node. */
  node_id: string;
  host: NodeHost;
  /** Single use, shown once. Pass it on standard input or in a file with mode 0600: arguments and variables of a process are visible to others on the host. */
  token: string;
  /** 15 minutes after creation. */
  expires_at: string;
  node_api_url: string;
  /** Fingerprint of the CA that the agent verifies. */
  ca_sha256: string;
  /** Run it on the host as root. It asks for the token, or reads it from standard input. */
  install_command: string;
};

/** The next known increase; null where none is known. No promise: allocations end earlier or are extended, and others launch. */
export type ExpectedCapacity = {
  /** GPUs that become free, on all nodes together. */
  gpus: number;
  /** By when, rounded up to a quarter of an hour. */
  at: string;
  /** `release`: allocations reach their maximum duration, then cleanup. `cleanup`: it runs now. */
  kind: 'release' | 'cleanup';
};

export type FabricOffer = {
  /** Whether it reaches the fabric. */
  available: boolean;
  /** What it gets, or why it gets nothing, as a sentence. */
  detail: string;
};

export type FoundDisk = {
  /** Kernel name at the discovery. */
  name: string;
  /** Null where the disk reports none: it can be neither approved nor excluded. */
  serial: string | null;
  /** An operator approved its wipe, which is not proven yet. */
  is_wipe_pending: boolean;
};

export type GroupMapping = {
  /** ID of the group mapping. */
  id: string;
  group: string;
  /** ID of the organization. */
  organization_id: string;
  organization_name: string;
  /** Null for a role in the organization. */
  project_id: string | null;
  project_name: string | null;
  role: 'admin' | 'member' | 'viewer';
  /** When it was created. */
  created_at: string;
};

export type GroupMappingSpec = {
  /** Group as the issuer writes it in the groups claim, e.g. `research`. */
  group: string;
  /** Name of the organization. */
  organization: string;
  /** Name of the project; null for a role in the organization. */
  project: string | null;
  /** A group never makes an owner. */
  role: 'admin' | 'member' | 'viewer';
};

/** All members of the mapped groups, complete. */
export type GroupMembers = {
  /** The issuer that it was exported from, as in `GPUAAS_OIDC_ISSUER`. */
  issuer: string;
  /** When the export began. For users who signed in later, that sign-in counts. */
  exported_at: string;
  /** Per group, as the issuer writes it in the groups claim, the subjects (`sub`) of all its members. Every mapped group must be present; one that no longer exists has none. */
  groups: Record<string, unknown>;
};

export type GroupSyncPlan = {
  /** Identifies the export and the changes that it leads to. */
  hash: string;
  /** Users of the issuer who have groups, or are in the export. */
  users_checked: number;
  /** Of them, those who signed in or were synchronized after the export. They are not changed. */
  users_newer: number;
  /** Subjects of the export that never signed in here. */
  users_unknown: number;
  memberships_granted: number;
  /** Memberships whose role changes. */
  memberships_changed: number;
  memberships_removed: number;
  /** Every change. The end of a membership in an organization ends those in its projects. */
  changes: {
    /** ID of the user. */
    user_id: string;
    user_name: string;
    email: string | null;
    action: 'grant' | 'change' | 'remove';
    organization_name: string;
    /** Null for the membership in the organization. */
    project_name: string | null;
    role: 'admin' | 'member' | 'viewer' | null;
  }[];
  /** Why the export may be incomplete, as sentences. With one, applying needs `accept_warnings`. */
  warnings: string[];
};

export type ImageSpec = {
  /** Image slug. */
  name: string;
  /** Display name. */
  display_name: string;
  /** Distribution. */
  os_family: string;
  /** Operating system version. */
  os_version: string;
  /** Digest of the file that hosts download. */
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: number;
  /** How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can. */
  boot_kind?: 'uefi' | 'kernel' | undefined;
  /** Whether the GPU driver is in the image. Nothing installs one later. */
  driver_strategy: 'preinstalled' | 'none';
  /** Readiness checks that the image runs in the guest OS; all must pass. */
  readiness_checks: string[];
  /** Source of the image. */
  source: string;
  /** Authority for the digest of this image. */
  digest_authority: string;
  /** SKUs of slices that can use the image. Bare metal keeps the operating system of its node. */
  sku_names: string[];
  /** A launch that names no image gets a stable one (default of a new image: stable). */
  channel?: 'stable' | 'candidate' | undefined;
  /** A launch that names no image gets a verified one (default: unverified). */
  trust?: 'unverified' | 'verified' | undefined;
};

export type Invitation = {
  /** ID of the invitation. */
  id: string;
  /** ID of the organization. */
  organization_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  state: 'pending' | 'accepted' | 'revoked' | 'expired';
  /** ID of the user. */
  invited_by: string;
  /** When it expires. */
  expires_at: string;
  /** When it was accepted. */
  accepted_at: string | null;
  /** When it was created. */
  created_at: string;
};

/** An alternative that fits now. Merge it into the launch body and retry. */
export type LaunchAlternative = {
  capacity_shape: 'baremetal' | 'gpu_slice';
  sku_name: string;
  region_name: string;
  gpu_count: number;
};

export type Me = {
  kind: 'user' | 'service_account';
  /** usr_… or sva_…. */
  id: string;
  name: string;
  email: string | null;
  /** `pending`: an operator has not approved the sign-up; nothing but this can be read. */
  state: 'active' | 'pending';
  sign_up_request: {
    /** ID of the sign up_request. */
    id: string;
    state: 'pending' | 'approved' | 'rejected';
    /** Reason of the decision. */
    reason: string | null;
    /** First sign-in. */
    created_at: string;
  } | null;
  platform_role: 'superadmin' | 'ops' | null;
  organizations: {
    /** ID of the organization. */
    id: string;
    name: string;
    display_name: string;
    role: 'owner' | 'admin' | 'member' | 'viewer';
  }[];
  projects: {
    /** ID of the project. */
    id: string;
    /** ID of the organization. */
    organization_id: string;
    name: string;
    role: 'admin' | 'member' | 'viewer' | 'service_account';
  }[];
  credential: {
    kind: 'oidc' | 'web_session' | 'api_token' | 'service_account_token';
    scopes: string[];
    /** When the credential of this request expires. */
    expires_at: string | null;
  };
};

export type Money = {
  /** Amount in minor units, e.g. cents. */
  amount_minor: number;
  /** ISO 4217 code. */
  currency: string;
};

/** The only host that may enroll as this node: each given field must match. Without it the first host that uses the token is bound to the node. */
export type NamedHost = {
  /** Serial number of the system, as dmidecode -s system-serial-number prints it. */
  product_serial?: string | undefined;
  /** UUID of the system. */
  product_uuid?: string | undefined;
  /** Content of /etc/machine-id. */
  machine_id?: string | undefined;
};

export type Node = {
  /** ID of the node. */
  id: string;
  name: string;
  region_name: string;
  pool_name: string;
  pool_organization_id: string | null;
  gpu_model: string;
  gpu_count: number;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  state: 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'draining' | 'retired' | 'deleted';
  state_reason: string | null;
  /** When this state began. */
  state_since: string;
  /** When this state is overdue; null where it may last. */
  state_deadline_at: string | null;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  occupancy: 'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked';
  /** Held for bare metal. */
  is_held: boolean;
  held_reason: string | null;
  health: 'ok' | 'unhealthy' | 'unknown';
  /** Launches that failed on it since one last succeeded. At 3, placement stops until they are cleared. */
  launch_failures: number;
  /** When a launch last failed on it. */
  launch_failed_at: string | null;
  is_runtime_validated: boolean;
  /** The newest discovery differs from what was approved. */
  has_hardware_change: boolean;
  /** GPUs of the newest discovery, by PCI ID; empty before the first one. */
  gpus_found: {
    /** PCI ID. */
    vendor_device: string;
    /** Name that a driver of the host reports; null under VFIO. */
    driver_name: string | null;
    /** Model by this ID; the ID itself if it is not known. */
    gpu_model: string;
    gpu_count: number;
  }[];
  /** Why the GPUs found are not of gpu_model. Meanwhile nothing is placed or approved on the node. */
  gpu_model_conflict: string | null;
  /** Disks of the newest discovery that a release of the whole node would not wipe: no boot disk, in no slot, and neither wiped under an approval nor excluded. While there is one, the node is not allocated as bare metal. Empty for a node of slices. */
  unapproved_disks: FoundDisk[];
  reboot_required: boolean;
  /** Why the host must reboot, in addition to the newest discovery. Cleared when the host has booted. */
  reboot_reason: string | null;
  /** Last inventory report of its agent. */
  reconciled_at: string | null;
  /** Differences between host and claims; see its inventory. */
  finding_count: number;
  host: NodeHost;
  /** Last heartbeat of its agent. */
  last_seen_at: string | null;
  /** Its agent was seen within 25 seconds. */
  is_connected: boolean;
  /** GPUs that can be launched now, as slices or as the whole node. */
  free_gpus: number;
  /** Largest GPU count that one allocation can get on this node now. */
  largest_set: number;
  version: number;
  /** When it was added. */
  created_at: string;
  /** Actions available now, with the reason for each unavailable one. */
  actions: Action[];
};

export type NodeFinding = {
  /** Stable code, e.g. orphan_vm. */
  code: string;
  allocation_id: string | null;
  vm: string | null;
  slot_ids: string[];
  message: string;
  /** When the finding first appeared. */
  since: string;
};

export type NodeHost = {
  /** `unbound`: the first host that enrolls is bound. `named`: only the host that the operator named can enroll. `bound`: the node has this host. */
  state: 'unbound' | 'named' | 'bound';
  product_serial: string | null;
  product_uuid: string | null;
  machine_id: string | null;
  /** When the host was bound. */
  bound_at: string | null;
};

export type NodeImage = {
  digest: string;
  name: string | null;
  size_bytes: number;
  /** When its bytes were last hashed. */
  verified_at: string | null;
  /** When a VM was last created from it. */
  last_used_at: string | null;
};

export type NodeInventory = {
  /** ID of the node. */
  node_id: string;
  /** When the agent observed the host, by the clock of the host. */
  observed_at: string;
  /** When the server received it. */
  received_at: string;
  /** Age of the report. An agent reports on every change, and at least every two minutes. */
  age_s: number;
  boot_id: string;
  /** Differences between host and claims. */
  findings: NodeFinding[];
  vms: {
    name: string;
    allocation_id: string | null;
    /** It has the tag of GPUaaS and the matching name. */
    is_managed: boolean;
    state: 'running' | 'shut_off' | 'paused' | 'crashed';
    ended_by: 'guest' | 'host' | 'crash' | null;
    /** PCI addresses, and serials or paths of disks. */
    devices: string[];
  }[];
  leases: {
    /** ID of the allocation. */
    allocation_id: string;
    slot_ids: string[];
    /** The host may hold state of it. */
    is_used: boolean;
    is_cleaning: boolean;
    wanted: 'on' | 'off';
  }[];
  /** What the agent repaired, as sentences. */
  repaired: string[];
};

export type NodeTask = {
  /** ID of the node task. */
  id: string;
  /** ID of the node. */
  node_id: string;
  allocation_id: string | null;
  kind: string;
  /** What the task does. */
  label: string;
  attempt: number;
  state: 'queued' | 'dispatched' | 'running' | 'completed' | 'failed' | 'expired' | 'unknown' | 'cancelled';
  state_reason: string | null;
  error_code: string | null;
  percent: number | null;
  /** The last note of the agent on its progress. */
  progress_note: string | null;
  correlation_id: string;
  /** When it was requested. */
  created_at: string;
  /** When the agent received it. */
  dispatched_at: string | null;
  /** When the agent started it. */
  started_at: string | null;
  /** When it ended. */
  finished_at: string | null;
  /** When it expires. */
  expires_at: string;
};

export type NodeTaskDetail = {
  /** ID of the node task. */
  id: string;
  /** ID of the node. */
  node_id: string;
  allocation_id: string | null;
  kind: string;
  /** What the task does. */
  label: string;
  attempt: number;
  state: 'queued' | 'dispatched' | 'running' | 'completed' | 'failed' | 'expired' | 'unknown' | 'cancelled';
  state_reason: string | null;
  error_code: string | null;
  percent: number | null;
  /** The last note of the agent on its progress. */
  progress_note: string | null;
  correlation_id: string;
  /** When it was requested. */
  created_at: string;
  /** When the agent received it. */
  dispatched_at: string | null;
  /** When the agent started it. */
  started_at: string | null;
  /** When it ended. */
  finished_at: string | null;
  /** When it expires. */
  expires_at: string;
  /** What the host returned, in the shape of its kind; null until it reports a result. */
  output: Record<string, unknown> | null;
};

export type OperatorQuota = {
  /** ID of the organization. */
  organization_id: string;
  /** Null for the limit of the whole organization. */
  project_id: string | null;
  /** Null for no limit at this level. */
  gpu_limit: number | null;
  gpu_used: number;
  version: number;
  organization_name: string;
  project_name: string | null;
};

export type Organization = {
  /** ID of the organization. */
  id: string;
  /** Unique on the platform. */
  name: string;
  display_name: string;
  kind: 'personal' | 'enterprise';
  version: number;
  /** When it was created. */
  created_at: string;
};

export type OrganizationLimit = {
  name: 'requests_per_minute' | 'tickets_per_minute' | 'streams' | 'sessions' | 'recordings' | 'projects' | 'service_accounts' | 'service_account_tokens' | 'members' | 'invitations' | 'quota_requests' | 'organizations' | 'personal_tokens' | 'ssh_keys';
  /** Whose usage it limits. `user`: usage of the caller. */
  per: 'organization' | 'user';
  max: number;
  /** Null for a rate or a count of one API process. */
  used: number | null;
  unit: string;
  /** What it counts. */
  counts: string;
};

export type OrganizationMember = {
  /** ID of the user. */
  user_id: string;
  name: string;
  email: string | null;
  role: 'owner' | 'admin' | 'member' | 'viewer';
  /** `group`: by a group of the issuer. Such a membership ends with the group. */
  source: 'manual' | 'group';
  version: number;
  /** When the user joined. */
  created_at: string;
};

export type OsImage = {
  /** Image slug. */
  name: string;
  display_name: string;
  os_family: string;
  os_version: string;
  /** Digest of the file that hosts download. */
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: number;
  /** How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can. */
  boot_kind: 'uefi' | 'kernel';
  /** Whether the GPU driver is in the image. Nothing installs one later. */
  driver_strategy: 'preinstalled' | 'none';
  /** Readiness checks that the image runs in the guest OS; all must pass. */
  readiness_checks: string[];
  /** Source of the image. */
  source: string;
  /** Authority for the digest of this image. */
  digest_authority: string;
  /** SKUs of slices that can use the image. */
  sku_names: string[];
  /** Only a stable image is chosen for a launch that names none. */
  channel: 'stable' | 'candidate';
  /** Only a verified image is chosen for a launch that names none. */
  trust: 'unverified' | 'verified';
  /** Whether it has a version that is not retired; launches use the newest. */
  enabled: boolean;
  /** Regions where it can be the default: a launch that names no image gets the first by name. It is stable and verified, and a host of the region has fetched it. */
  default_regions: string[];
  /** Newest first, up to 20. */
  versions: OsImageVersion[];
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
};

export type OsImageVersion = {
  /** Digest of the file that hosts download. */
  digest: string;
  format: 'raw' | 'qcow2';
  size_bytes: number;
  /** How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can. */
  boot_kind: 'uefi' | 'kernel';
  /** Whether the GPU driver is in the image. Nothing installs one later. */
  driver_strategy: 'preinstalled' | 'none';
  /** Readiness checks that the image runs in the guest OS; all must pass. */
  readiness_checks: string[];
  /** Source of the image. */
  source: string;
  /** Authority for the digest of this image. */
  digest_authority: string;
  /** When it was registered. */
  registered_at: string;
  /** When it was retired; running allocations are untouched. */
  retired_at: string | null;
  retired_reason: string | null;
};

export type Pool = {
  /** ID of the pool. */
  id: string;
  /** Lower-case name, unique where it is used. */
  name: string;
  purpose: string | null;
  /** A dedicated pool serves one organization. */
  kind: 'shared' | 'dedicated';
  organization_id: string | null;
  organization_name: string | null;
  /** Nodes that are not deleted. */
  node_count: number;
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
  /** When it was created. */
  created_at: string;
};

export type PoolSpec = {
  /** Name of the pool. */
  name: string;
  /** What the pool is for, for operators. */
  purpose?: string | null | undefined;
  /** The organization that it is dedicated to; null for a shared pool (default). */
  organization_id?: string | null | undefined;
};

export type Price = {
  /** ID of the price. */
  id: string;
  /** Lower-case name, unique where it is used. */
  sku_name: string;
  gpu_hourly_price: Money;
  /** When it took or takes effect. */
  valid_from: string;
  /** When the next price takes effect, or its SKU was retired; null without either, and for a cancelled price. */
  valid_until: string | null;
  state: 'past' | 'current' | 'future' | 'cancelled';
  /** Who set it; null for a price from before an upgrade. */
  created_by: string | null;
  /** When it was set. */
  created_at: string;
  /** When it was cancelled, before it took effect. */
  cancelled_at: string | null;
};

export type PriceSpec = {
  /** SKU that it is for. */
  sku_name: string;
  /** Price per GPU hour in minor units, e.g. cents. */
  gpu_hourly_price_minor: number;
  /** ISO 4217 code. */
  currency: string;
  /** When it takes effect (default: now). Not in the past. */
  valid_from?: string | undefined;
};

/** Error envelope of every operation. */
export type Problem = {
  /** URL of the page that explains the code. */
  type: string;
  title: string;
  status: number;
  /** What went wrong, as a sentence for the caller. */
  detail: string;
  /** Path of the request. */
  instance: string;
  code: 'invalid_request' | 'idempotency_key_missing' | 'unauthenticated' | 'fresh_sign_in_required' | 'permission_denied' | 'policy_denied' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'conflict' | 'already_exists' | 'idempotency_in_flight' | 'insufficient_capacity' | 'quota_exceeded' | 'limit_exceeded' | 'sku_disabled' | 'region_disabled' | 'gone' | 'precondition_failed' | 'payload_too_large' | 'unsupported_media_type' | 'idempotency_key_reused' | 'precondition_required' | 'rate_limited' | 'header_too_large' | 'internal' | 'unavailable';
  correlation_id: string;
  /** Whether the same request can succeed later. */
  retryable: boolean;
  retry_after_s: number | null;
  errors: {
    /** JSON pointer into the request, e.g. /body/name. */
    pointer: string;
    code: string;
    message: string;
  }[];
  reasons: {
    code: string;
    [name: string]: unknown;
  }[];
  alternatives: Record<string, unknown>[];
  actions: {
    rel: string;
    href: string;
    text: string;
  }[];
};

export type Project = {
  /** ID of the project. */
  id: string;
  /** ID of the organization. */
  organization_id: string;
  /** Unique in the organization. */
  name: string;
  display_name: string;
  /** Records terminals of this project, also where the access policy of the organization does not. */
  records_terminals: boolean;
  /** Allows only recorded sessions in this project: records terminals, refuses every other kind. False leaves it to the organization. */
  requires_recording: boolean;
  version: number;
  /** When it was created. */
  created_at: string;
  actions: Action[];
};

export type ProjectEvent = {
  specversion: '1.0';
  /** ID of the event. */
  id: string;
  type: string;
  source: string;
  /** ID of its subject. */
  subject: string;
  /** When it happened. */
  time: string;
  datacontenttype: 'application/json';
  correlationid: string;
  organizationid: string;
  projectid: string;
  data: Record<string, unknown>;
};

export type ProjectMember = {
  /** ID of the user. */
  user_id: string;
  name: string;
  email: string | null;
  role: 'admin' | 'member' | 'viewer';
  /** `group`: by a group of the issuer. Such a membership ends with the group. */
  source: 'manual' | 'group';
  /** When the user was added. */
  created_at: string;
};

export type Quota = {
  /** ID of the organization. */
  organization_id: string;
  /** Null for the limit of the whole organization. */
  project_id: string | null;
  /** Null for no limit at this level. */
  gpu_limit: number | null;
  gpu_used: number;
  version: number;
};

export type QuotaRequest = {
  /** ID of the quota request. */
  id: string;
  /** ID of the organization. */
  organization_id: string;
  organization_name: string;
  /** Null for the limit of the whole organization. */
  project_id: string | null;
  project_name: string | null;
  /** The requested limit in GPUs. */
  gpu_limit: number;
  /** The limit that applies now; null for none. */
  current_gpu_limit: number | null;
  reason: string;
  state: 'open' | 'approved' | 'rejected' | 'withdrawn';
  /** The limit that was set on approval. */
  granted_gpu_limit: number | null;
  decision_reason: string | null;
  /** ID of the user. */
  requested_by: string;
  /** When it was decided or withdrawn. */
  decided_at: string | null;
  /** When it was created. */
  created_at: string;
};

export type QuotaSpec = {
  /** Name of the organization. */
  organization: string;
  /** Name of the project; null for the whole organization. */
  project: string | null;
  /** Null for no limit. */
  gpu_limit: number | null;
};

export type Region = {
  /** Region code. */
  name: string;
  display_name: string;
  enabled: boolean;
  /** Why the region is disabled, as a sentence. */
  disabled_reason: string | null;
  /** Minimum wipe level between two tenants, in terms of NIST SP 800-88. */
  wipe_minimum: 'clear' | 'purge';
  /** Whether a wipe that two operators accept without proof makes a slot schedulable. */
  allows_wipe_override: boolean;
  /** Provider that keeps tenants apart on the fabric. With `none`, the fabric function of a slot is not passed into its VM. */
  fabric_isolation: 'none';
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
};

export type RegionSpec = {
  /** Region code. */
  name: string;
  /** Display name. */
  display_name: string;
  /** Whether tenants can launch (default: true). */
  enabled?: boolean | undefined;
  /** Shown to tenants while disabled. */
  disabled_reason?: string | null | undefined;
  /** Minimum wipe level between two tenants (default: clear). */
  wipe_minimum?: 'clear' | 'purge' | undefined;
  /** Whether a two-person override makes a slot schedulable (default: false). */
  allows_wipe_override?: boolean | undefined;
  /** Provider that keeps tenants apart on the fabric (default: none). With `none`, VMs started from then on have no fabric function. */
  fabric_isolation?: 'none' | undefined;
};

export type RestoreStatus = {
  restore: {
    /** ID of the restore. */
    id: string;
    /** When it was recorded. */
    began_at: string;
    began_by: string;
    reason: string;
    /** Credentials, sessions and tickets created before this time ended. */
    older_than: string;
    /** How many of each were ended. */
    ended: {
      api_tokens: number;
      service_account_secrets: number;
      web_sessions: number;
      terminal_sessions: number;
      invitations: number;
      enrollments: number;
      node_certificates: number;
    };
    /** Audited changes since the backup, identity changes among them, by organization. Their number is known from the signed heads of the audit log outside the database; what the others were is in the event stream and in shipped logs. */
    lost_changes: {
      /** Null for changes of the platform. */
      organization_id: string | null;
      audit_rows: number;
    }[];
    /** Changes of members, credentials, keys and certificates since the backup, oldest first, from the file beside the heads of the audit log. None of them is in the restored database: repeat the removals. */
    identity_changes: {
      /** When it was changed. */
      at: string;
      action: string;
      target_kind: string | null;
      target_id: string | null;
      actor_id: string | null;
      /** Null for changes of the platform. */
      organization_id: string | null;
    }[];
  } | null;
  /** Nodes that get no task that destroys data or installs keys until an operator releases them. */
  held_nodes: {
    /** ID of the node. */
    node_id: string;
    name: string;
    /** The last inventory report since the restore; null without one. */
    inventory_at: string | null;
    /** Differences between the host and the claims. */
    findings: number;
    /** Keys that the restored database would install again on allocations of the node, those of the launch and grants. A key that was revoked since the backup is among them. */
    ssh_keys: {
      /** ID of the allocation. */
      allocation_id: string;
      user_id: string;
      user_name: string;
      fingerprint: string;
    }[];
  }[];
};

export type ServiceAccount = {
  /** Also the OAuth client_id. */
  id: string;
  /** ID of the project. */
  project_id: string;
  /** Unique in the project. */
  name: string;
  description: string | null;
  state: 'enabled' | 'disabled';
  /** When the client secret was last rotated. */
  secret_rotated_at: string;
  /** Last use of its secret or a token, to the minute. */
  last_used_at: string | null;
  version: number;
  /** When it was created. */
  created_at: string;
};

export type SignUpRequest = {
  /** ID of the sign up_request. */
  id: string;
  /** ID of the user. */
  user_id: string;
  name: string;
  email: string | null;
  email_verified: boolean;
  state: 'pending' | 'approved' | 'rejected';
  /** Reason of the decision. The person sees it. */
  reason: string | null;
  /** ID of the user. */
  decided_by: string | null;
  /** When it was decided. */
  decided_at: string | null;
  /** First sign-in. */
  created_at: string;
};

export type SignedWipeCertificate = {
  certificate: WipeCertificate;
  signature: {
    /** ID of the trust key. */
    key_id: string;
    algorithm: 'Ed25519';
    /** Base64, over the line "gpuaas wipe certificate v1" and the certificate as canonical JSON (RFC 8785), in UTF-8. */
    value: string;
  };
};

export type SiteChange = {
  section: 'regions' | 'skus' | 'vm_profiles' | 'prices' | 'images' | 'pools' | 'policy' | 'quotas' | 'group_mappings';
  /** The row of the section, e.g. the code of the region. */
  name: string;
  action: 'create' | 'update' | 'retire' | 'delete' | 'cancel';
  /** Changed fields. A created row lists all its fields, a retired row none, a deleted GPU limit the limit that applies then. */
  fields: {
    name: string;
    /** The value as text; null where there is none. */
    before: string | null;
    /** The value as text; null where there is none. */
    after: string | null;
  }[];
  /** Why the change is refused now, as sentences. */
  blockers: string[];
};

/** Desired state of a site. A section that is left out is not managed by the file. */
export type SiteFile = {
  /** Form of the file. */
  version: number;
  /** All regions; others are retired. */
  regions?: RegionSpec[] | undefined;
  /** All SKUs; others are retired. */
  skus?: SkuSpec[] | undefined;
  /** All VM profiles; others are retired. */
  vm_profiles?: VmProfileSpec[] | undefined;
  /** The current and future prices of all SKUs; other future prices are cancelled. */
  prices?: {
    /** SKU that it is for. */
    sku_name: string;
    /** Price per GPU hour in minor units, e.g. cents. */
    gpu_hourly_price_minor: number;
    /** ISO 4217 code. */
    currency: string;
    /** When it takes effect. A price without it, and one whose time has passed, is the current price. */
    valid_from?: string | undefined;
  }[] | undefined;
  /** All images, each with the version that launches use; others are retired. */
  images?: {
    /** Image slug. */
    name: string;
    /** Display name. */
    display_name: string;
    /** Distribution. */
    os_family: string;
    /** Operating system version. */
    os_version: string;
    /** Digest of the file that hosts download. */
    digest: string;
    format: 'raw' | 'qcow2';
    size_bytes: number;
    /** How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can. */
    boot_kind?: 'uefi' | 'kernel' | undefined;
    /** Whether the GPU driver is in the image. Nothing installs one later. */
    driver_strategy: 'preinstalled' | 'none';
    /** Readiness checks that the image runs in the guest OS; all must pass. */
    readiness_checks: string[];
    /** Source of the image. */
    source: string;
    /** Authority for the digest of this image. */
    digest_authority: string;
    /** SKUs of slices that can use the image. */
    sku_names: string[];
    /** A launch that names no image gets a stable one (default of a new image: stable). */
    channel?: 'stable' | 'candidate' | undefined;
    /** A launch that names no image gets a verified one (default: unverified). */
    trust?: 'unverified' | 'verified' | undefined;
  }[] | undefined;
  /** All pools; others are retired. The pool `shared` exists without being listed. */
  pools?: {
    /** Name of the pool. */
    name: string;
    /** What the pool is for, for operators. */
    purpose?: string | null | undefined;
    /** Name of the organization that it is dedicated to; null for a shared pool (default). */
    organization?: string | null | undefined;
  }[] | undefined;
  policy?: SitePolicySpec | undefined;
  /** All GPU limits that operators set; others are deleted. Without one, an organization has `default_gpu_limit` and a project has no limit. */
  quotas?: QuotaSpec[] | undefined;
  /** All group mappings; others are deleted. */
  group_mappings?: GroupMappingSpec[] | undefined;
};

export type SitePlan = {
  /** Identifies the file, the site that it was compared with, and the changes. */
  hash: string;
  /** In the order in which they are made. Empty if the site matches the file. */
  changes: SiteChange[];
};

export type SitePolicy = {
  /** Who may sign up. `closed`: no one. `invited`: people with a pending invitation to their verified email address, or in a mapped group. `approved`: everyone else waits until an operator approves. `open`: see `mail_domains`. */
  sign_up: 'closed' | 'invited' | 'approved' | 'open';
  /** With `open`: the domains whose verified email addresses may sign up. Empty for any address. */
  mail_domains: string[];
  /** GPU limit with which an organization starts; those that users create beyond their first start with 0. Null for no limit. */
  default_gpu_limit: number | null;
  /** Contact shown to refused users: an address or a name. */
  contact: string | null;
  version: number;
  /** When it was last changed. */
  updated_at: string;
};

export type SitePolicySpec = {
  /** Who may sign up. `closed`: no one. `invited`: people with a pending invitation to their verified email address, or in a mapped group. `approved`: everyone else waits until an operator approves. `open`: see `mail_domains`. */
  sign_up: 'closed' | 'invited' | 'approved' | 'open';
  /** With `open`: the domains whose verified email addresses may sign up. Empty for any address. */
  mail_domains: string[];
  /** GPU limit with which an organization starts; those that users create beyond their first start with 0. Null for no limit. */
  default_gpu_limit: number | null;
  /** Contact shown to refused users: an address or a name. */
  contact: string | null;
};

export type Sku = {
  /** SKU code. */
  name: string;
  display_name: string;
  vendor: string;
  gpu_model: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  allowed_gpu_counts: number[];
  /** Parts that each slot needs to serve it. They follow from the shape and cannot be set: a VM needs all of them, a whole node none. */
  required_parts: ('gpu' | 'nvme' | 'mac' | 'private_ip' | 'fabric_vf')[];
  gpu_hourly_price: Money | null;
  vm_profiles: {
    name: string;
    gpu_count: number;
    vcpu_count: number;
    memory_mib: number;
    is_default: boolean;
  }[];
  /** Whether it can be launched: operators enabled it and it has a price. */
  enabled: boolean;
  /** Why it cannot be launched, as a sentence. */
  disabled_reason: string | null;
  /** Fabric in each region, by name. */
  fabric: {
    region_name: string;
    /** Whether it reaches the fabric. */
    available: boolean;
    /** What it gets, or why it gets nothing, as a sentence. */
    detail: string;
  }[];
  /** When it was retired; null while it is in use. */
  retired_at: string | null;
  version: number;
};

export type SkuCapacity = {
  sku_name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  /** GPUs of nodes in service. */
  delivered_gpus: number;
  healthy_gpus: number;
  /** GPUs claimed by allocations. */
  reserved_gpus: number;
  /** GPUs of active allocations. */
  active_gpus: number;
  /** GPUs that can be launched now. */
  free_gpus: number;
  /** GPUs without an approved slot or data disk. */
  unapproved_gpus: number;
  /** All other GPUs: in cleanup, unhealthy, not ready, or in no free set. Of a SKU also those in use by, or held for, the other shape. Delivered GPUs are reserved, free, unapproved or blocked. */
  blocked_gpus: number;
  /** Largest GPU count that one allocation can get now. */
  largest_set: number;
};

export type SkuSpec = {
  /** SKU code. */
  name: string;
  /** Display name. */
  display_name: string;
  /** Vendor of the GPU. */
  vendor: string;
  /** GPU model, as discovery reports it. */
  gpu_model: string;
  /** PCI IDs, as vendor:device, of GPUs that are this model and that the product does not know. Hosts with such GPUs can then be added as this model. */
  gpu_ids?: string[] | undefined;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  /** GPU counts that a launch may request. Bare metal: only the whole node. */
  allowed_gpu_counts: number[];
  /** Whether tenants can launch it (default: true). */
  enabled?: boolean | undefined;
  /** Shown to tenants while disabled. */
  disabled_reason?: string | null | undefined;
};

export type Slot = {
  /** ID of the slot. */
  id: string;
  /** ID of the node. */
  node_id: string;
  slot_index: number;
  approval: 'approved' | 'disabled' | 'needs_reapproval';
  status: 'available' | 'reserved' | 'in_use' | 'cleaning' | 'cleanup_blocked' | 'quarantined';
  status_reason: string | null;
  /** When this status began. */
  status_since: string;
  /** When this status is overdue; null where it may last, or the slot is disabled. */
  status_deadline_at: string | null;
  health: 'ok' | 'unhealthy' | 'unknown';
  health_detail: Record<string, unknown>;
  generation: number;
  /** Generation on the host if it is newer: this database was restored from a backup. */
  host_generation: number | null;
  module_id: number | null;
  numa_node: number | null;
  gpu_pci_address: string | null;
  nvme_serial: string | null;
  mac_address: string | null;
  private_ip: string | null;
  fabric_vf_pci_address: string | null;
  /** Allocation of the live claim. */
  allocation_id: string | null;
  /** Last claim. */
  last_claimed_at: string | null;
  /** Last accepted wipe. */
  wiped_at: string | null;
  /** How the last wipe was accepted. `overridden`: by two operators, without proof. */
  wipe_outcome: 'verified' | 'overridden' | null;
  wipe_proof_id: string | null;
  /** Differences between the newest discovery and the approval, by field. */
  drift: Record<string, {
    approved: unknown;
    found: unknown;
  }> | null;
  approved_by: string | null;
  /** When it was approved. */
  approved_at: string | null;
  version: number;
  /** Actions available now, with the reason for each unavailable one. */
  actions: Action[];
};

export type SlotMapRow = {
  /** ID of the node. */
  node_id: string;
  name: string;
  region_name: string;
  pool_name: string;
  gpu_model: string;
  gpu_count: number;
  state: 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'draining' | 'retired' | 'deleted';
  state_reason: string | null;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  occupancy: 'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked';
  health: 'ok' | 'unhealthy' | 'unknown';
  is_held: boolean;
  is_connected: boolean;
  has_hardware_change: boolean;
  /** Why the GPUs found are not of gpu_model. */
  gpu_model_conflict: string | null;
  /** Disks that keep the node from being allocated as bare metal. */
  unapproved_disks: FoundDisk[];
  reboot_required: boolean;
  finding_count: number;
  /** GPUs that can be launched now, as slices or as the whole node. */
  free_gpus: number;
  /** Largest GPU count that one allocation can get on this node now. */
  largest_set: number;
  /** By index; empty before the first approval. */
  slots: {
    /** ID of the slot. */
    id: string;
    slot_index: number;
    approval: 'approved' | 'disabled' | 'needs_reapproval';
    status: 'available' | 'reserved' | 'in_use' | 'cleaning' | 'cleanup_blocked' | 'quarantined';
    status_reason: string | null;
    /** When this status began. */
    status_since: string;
    health: 'ok' | 'unhealthy' | 'unknown';
    numa_node: number | null;
    has_hardware_change: boolean;
    allocation_id: string | null;
    /** Last verified wipe. */
    wiped_at: string | null;
  }[];
};

export type SshKey = {
  /** ID of the ssh key. */
  id: string;
  /** Unique among the caller’s keys. */
  name: string;
  algorithm: string;
  /** Without its comment. */
  public_key: string;
  /** SHA256:… as ssh-keygen -l prints it. */
  fingerprint: string;
  /** When it was last installed on a VM. */
  last_used_at: string | null;
  /** When it was added. */
  created_at: string;
};

export type TerminalSession = {
  /** ID of the terminal session. */
  id: string;
  /** ID of the allocation. */
  allocation_id: string;
  kind: 'terminal' | 'console' | 'ssh' | 'forward';
  /** Port of a forward; null for other kinds. */
  port: number | null;
  state: 'ticketed' | 'opening' | 'open' | 'closed';
  /** False for read-only access to the console. */
  is_writable: boolean;
  is_recorded: boolean;
  /** User or service account that opened it. */
  principal_id: string;
  principal_name: string;
  /** Source address of the client. */
  source_ip: string | null;
  /** From client to VM. */
  bytes_in: number;
  /** From VM to client. */
  bytes_out: number;
  /** When the ticket was issued. */
  created_at: string;
  /** When both ends were connected. */
  opened_at: string | null;
  /** When it ended. */
  closed_at: string | null;
  /** When it expires. */
  expires_at: string;
  end_reason: 'ended' | 'client_disconnected' | 'agent_disconnected' | 'unreachable' | 'released' | 'revoked' | 'idle' | 'expired' | 'gateway_stopped' | 'protocol_error' | null;
  end_message: string | null;
  correlation_id: string;
};

export type TerminalTicket = {
  /** ID of the terminal session. */
  session_id: string;
  /** Single use. Send it as a WebSocket subprotocol, never in a URL. */
  ticket: string;
  /** URL of the gateway. */
  url: string;
  /** When the ticket expires. */
  expires_at: string;
  kind: 'terminal' | 'console' | 'ssh' | 'forward';
  is_writable: boolean;
  /** Text to show before the session, for example that it is recorded. */
  notice: string | null;
};

export type TimelineEntry = {
  sequence: number;
  workflow: string;
  /** Label of the workflow. */
  workflow_label: string;
  /** Null for a workflow that no longer exists. */
  phase: 'launch' | 'power' | 'access' | 'cleanup' | 'repair' | null;
  step: string;
  /** Label of the step. */
  label: string;
  attempt: number;
  outcome: 'next' | 'wait' | 'done' | 'failed' | 'stuck' | 'error' | 'timeout' | 'cancelled' | 'retried';
  detail: string | null;
  /** When it started. */
  started_at: string;
  /** When it ended. */
  finished_at: string;
  duration_ms: number;
};

export type TokenCreate = {
  /** Purpose. */
  name: string;
  /** `all`, `read`, a permission, or a prefix such as `service_account.*`. Never more than the creator holds. `fresh_sign_in`, which `all` does not include, stands for a fresh sign-in; only operators of the platform can grant it, for at most 7 days. */
  scopes: string[];
  /** Lifetime in seconds, at most one year. */
  expires_in_s: number;
};

export type TokenCreated = {
  api_token: ApiToken;
  /** Shown once; stored as a hash. */
  token: string;
};

export type Trace = {
  /** As requested. */
  id: string;
  kind: 'correlation' | 'allocation' | 'node' | 'slot' | 'node_task' | 'workflow_run';
  /** Correlation IDs in the trace, oldest first, at most 50. */
  correlation_ids: string[];
  /** Resources in the trace. */
  subjects: {
    kind: 'allocation' | 'node' | 'slot' | 'node_task' | 'workflow_run';
    id: string;
    name: string | null;
    state: string | null;
    project_id: string | null;
  }[];
  /** The first entry that failed. */
  first_failure_key: string | null;
  /** Oldest first, at most 1000. */
  entries: TraceEntry[];
  /** Whether entries were left out. */
  is_truncated: boolean;
  /** Clock offsets of the hosts in the trace. */
  clock_skews: {
    /** ID of the node. */
    node_id: string;
    host_name: string;
    skew_ms: number;
  }[];
  /** Missing evidence: a record without host role or correlation ID, or a task without a log line. */
  gaps: string[];
};

export type TraceEntry = {
  /** Key of the entry within this response. */
  key: string;
  /** When the statement of the title became true, by the clock of the server where known. */
  at: string;
  /** When the work began that ended at `at`; null for a single moment and for running work. */
  since: string | null;
  host_role: 'platform_control' | 'app_control' | 'worker_compute';
  host_name: string | null;
  /** The process that wrote it. */
  service: string | null;
  node_id: string | null;
  source: 'request' | 'audit' | 'workflow' | 'task' | 'log' | 'event';
  level: 'info' | 'warn' | 'error';
  is_failure: boolean;
  /** What happened, in a few words. */
  title: string;
  detail: string | null;
  /** Subject of the entry. */
  subject_id: string | null;
  /** Null if the record has none, which is a defect. */
  correlation_id: string | null;
  data: Record<string, unknown>;
};

export type UsageRecord = {
  /** ID of the usage record. */
  id: string;
  /** ID of the allocation. */
  allocation_id: string;
  sku_name: string;
  gpu_count: number;
  gpu_hourly_price: Money;
  /** When the allocation became active. */
  started_at: string;
  /** When its release was accepted; null while it runs. */
  ended_at: string | null;
  cost: Money;
};

export type UsageSummary = {
  /** Start of the current month, in UTC. */
  since: string;
  /** Cost since then, one entry per currency. */
  costs: Money[];
  /** Current cost per hour, one entry per currency. */
  costs_per_hour: Money[];
  /** Allocations that are charged now. */
  running_allocations: number;
  running_gpus: number;
};

export type User = {
  /** ID of the user. */
  id: string;
  name: string;
  email: string | null;
  issuer: string;
  subject: string;
  platform_role: 'superadmin' | 'ops' | null;
  state: 'active' | 'disabled' | 'pending';
  version: number;
  /** Last authenticated request, to the minute. */
  last_seen_at: string | null;
  /** First sign-in. */
  created_at: string;
};

export type VmProfileSpec = {
  /** Name of the VM profile, unique in the catalog. */
  name: string;
  /** SKU of the profile; a slice. */
  sku_name: string;
  gpu_count: number;
  vcpu_count: number;
  memory_mib: number;
  /** Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none. */
  hugepages?: 'auto' | 'none' | '2M' | '1G' | undefined;
  /** strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node. */
  numa_policy?: 'strict' | 'preferred' | 'none' | undefined;
  /** Used by launches of this GPU count that name no profile. It replaces the earlier default. */
  is_default?: boolean | undefined;
};

export type WebSession = {
  /** ID of the web session. */
  id: string;
  /** Whether it is the session of this request. */
  is_current: boolean;
  /** User agent of the browser. */
  user_agent: string | null;
  /** Source address of the sign-in. */
  source_ip: string | null;
  /** When the user signed in. */
  created_at: string;
  /** Last use, to the minute. */
  last_seen_at: string;
  /** When it expires at the latest; earlier if it is not used. */
  expires_at: string;
};

export type WipeCertificate = {
  format: 'gpuaas wipe certificate v1';
  /** URL of the server that issued it. */
  issuer: string;
  allocation: {
    /** ID of the allocation. */
    id: string;
    name: string;
    /** ID of the project. */
    project_id: string;
    /** ID of the organization. */
    organization_id: string;
    capacity_shape: 'baremetal' | 'gpu_slice';
    sku_name: string;
    region_name: string;
    gpu_count: number;
    /** When the allocation became active. */
    activated_at: string | null;
    /** When its release was requested. */
    release_requested_at: string | null;
    /** When the wipe was verified. */
    released_at: string | null;
  };
  /** Level of NIST SP 800-88. */
  wipe_minimum: 'clear' | 'purge' | null;
  disks: {
    /** Fingerprint of the disk within this allocation, derived from the serial number with a secret of the server. */
    disk: string;
    /** How the wipe was accepted. `overridden`: two operators accepted the wipe without proof. */
    outcome: 'verified' | 'overridden';
    /** How the wipe before this allocation was accepted; null without one on record. `overridden`: two operators accepted the wipe without proof. */
    outcome_before: 'verified' | 'overridden' | null;
    size_bytes: number | null;
    method: string;
    /** Level of NIST SP 800-88. */
    level: 'clear' | 'purge' | null;
    erase: 'crypto' | 'block' | 'discard' | null;
    /** Exit status of the wipe command; 0 is success. */
    command_status: number | null;
    /** `blank`: the read-back found only zeros or ones. `changed`: it found data that differs from the data before the wipe. */
    rule: 'blank' | 'changed' | null;
    bytes_read_back: number;
    bytes_not_erased: number;
    samples: {
      offset: number;
      length: number;
      /** Hash of the data found. Null for noise, which the next tenant could read as well. */
      sha256: string | null;
    }[];
    attempt: number | null;
    /** When the wipe started, by the clock of the host. */
    started_at: string | null;
    /** When the read-back ended, by the clock of the host. */
    finished_at: string;
    /** When the server accepted it as proof. */
    proven_at: string;
    gpu_reset: {
      method: string;
      /** Number of PCI functions that were reset, all of this GPU. */
      functions: number;
      /** Whether the reset succeeded. The GPU stays unschedulable until it does. */
      is_ok: boolean;
    } | null;
    fabric_function: {
      method: string;
      /** The fabric function was reset and responded afterwards. Its MAC and GUID are not read back. */
      is_cleared: boolean;
    } | null;
    /** ID of the wipe proof. */
    wipe_proof_id: string;
    proof_hash: string;
  }[];
  /** Number of disks that the tenant of a whole node could write to and that no wipe covered: an operator excluded them, or they were added during the allocation. Boot disks are not counted. Null for a slice, which reaches no other disk, and for a release before this field existed. */
  unwiped_disks: number | null;
  isolation: {
    is_port_removed: boolean;
    is_reservation_removed: boolean;
    is_lease_removed: boolean;
    is_translation_removed: boolean;
    is_vm_removed: boolean;
    is_seed_removed: boolean;
    partitions_deactivated: number;
  } | null;
};

export type WipeCertificateKey = {
  /** ID of the trust key. */
  key_id: string;
  /** Signatures of a revoked key are invalid. Keys in the other states verify; only the active key signs. */
  state: 'active' | 'grace' | 'retired' | 'revoked';
  public_key_pem: string;
  fingerprint_sha256: string;
  /** When it was created. */
  created_at: string;
};

export type WipeProof = {
  /** ID of the wipe proof. */
  id: string;
  /** ID of the node. */
  node_id: string;
  slot_id: string | null;
  allocation_id: string | null;
  disk_serial: string | null;
  task_id: string;
  method: string;
  /** `overridden`: two operators accepted the wipe without proof. */
  outcome: 'verified' | 'overridden' | 'failed';
  evidence: Record<string, unknown>;
  correlation_id: string;
  sequence: number;
  previous_hash: string;
  proof_hash: string;
  /** When the server stored it. */
  created_at: string;
};

export type WorkflowRun = {
  /** ID of the workflow run. */
  id: string;
  workflow: string;
  workflow_version: number;
  /** Subject of the run. */
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  /** The current or last step. */
  step: string;
  /** Label of that step. */
  step_label: string;
  state: 'pending' | 'running' | 'waiting' | 'done' | 'stuck' | 'cancelled';
  state_reason: string | null;
  /** When this state began. */
  state_since: string;
  /** Deadline of the run. */
  state_deadline_at: string | null;
  attempt: number;
  /** How often in a row the worker stopped while it ran this step. A run with a loss is executed alone, after a growing pause; it becomes `stuck` after 4 losses during which other runs went on, or after 25. */
  workers_lost: number;
  /** When it continues automatically. */
  wake_at: string | null;
  /** The worker that holds it now. */
  owner: string | null;
  correlation_id: string;
  /** When it started. */
  created_at: string;
  /** When it ended. */
  finished_at: string | null;
  actions: Action[];
};

export type WorkflowStep = {
  sequence: number;
  step: string;
  /** Label of the step. */
  label: string;
  attempt: number;
  outcome: 'next' | 'wait' | 'done' | 'failed' | 'stuck' | 'error' | 'timeout' | 'cancelled' | 'retried';
  detail: string | null;
  /** When it started. */
  started_at: string;
  /** When it ended. */
  finished_at: string;
  duration_ms: number;
};

export type node = {
  /** ID of the node. */
  node_id: string;
};

/** Every code a refusal can carry, with what to do about it. */
export const ERRORS = {
  "invalid_request": {
    "status": 400,
    "retryable": false,
    "title": "Invalid request",
    "help": "Correct the fields named in errors[] and send the request again."
  },
  "idempotency_key_missing": {
    "status": 400,
    "retryable": false,
    "title": "Idempotency key missing",
    "help": "Send an Idempotency-Key header of 8 to 128 characters and reuse the same value when you retry."
  },
  "unauthenticated": {
    "status": 401,
    "retryable": false,
    "title": "Not signed in",
    "help": "Sign in again (`gpuaas login`) or send a valid bearer token."
  },
  "fresh_sign_in_required": {
    "status": 401,
    "retryable": false,
    "title": "Fresh sign-in required",
    "help": "Sign in again (`gpuaas login --fresh`) and repeat the request with the same Idempotency-Key. A program needs an API token with the scope `fresh_sign_in`."
  },
  "permission_denied": {
    "status": 403,
    "retryable": false,
    "title": "Permission denied",
    "help": "Ask an owner or admin of the organization for a role with this permission. Roles of operators are granted by a superadmin."
  },
  "policy_denied": {
    "status": 403,
    "retryable": false,
    "title": "Forbidden by policy",
    "help": "Ask an owner of the organization, or an operator, to change the policy."
  },
  "not_found": {
    "status": 404,
    "retryable": false,
    "title": "Not found",
    "help": "Check the ID, and the project or organization."
  },
  "method_not_allowed": {
    "status": 405,
    "retryable": false,
    "title": "Method not allowed",
    "help": "See /docs for the methods of this path."
  },
  "request_timeout": {
    "status": 408,
    "retryable": true,
    "title": "Request timed out",
    "help": "The request arrived too slowly. Retry."
  },
  "conflict": {
    "status": 409,
    "retryable": false,
    "title": "Conflict with current state",
    "help": "Fix the stated cause, then retry."
  },
  "already_exists": {
    "status": 409,
    "retryable": false,
    "title": "Already exists",
    "help": "Use the existing resource or another name."
  },
  "idempotency_in_flight": {
    "status": 409,
    "retryable": true,
    "title": "Same request still running",
    "help": "Wait a moment and retry with the same Idempotency-Key."
  },
  "insufficient_capacity": {
    "status": 409,
    "retryable": true,
    "title": "No capacity fits",
    "help": "See reasons[] for why GPUs are unavailable and alternatives[] for what fits now."
  },
  "quota_exceeded": {
    "status": 409,
    "retryable": false,
    "title": "Quota exceeded",
    "help": "Release an allocation, or request a larger limit: `gpuaas quota request`."
  },
  "limit_exceeded": {
    "status": 409,
    "retryable": false,
    "title": "Limit exceeded",
    "help": "Remove what you no longer need, or ask an operator to raise the limit. The limits of an organization: `gpuaas organization limit list`."
  },
  "sku_disabled": {
    "status": 409,
    "retryable": false,
    "title": "SKU is disabled",
    "help": "Choose another SKU: `gpuaas sku list`."
  },
  "region_disabled": {
    "status": 409,
    "retryable": false,
    "title": "Region is disabled",
    "help": "Choose an enabled region: `gpuaas region list`."
  },
  "gone": {
    "status": 410,
    "retryable": false,
    "title": "No longer available",
    "help": "Read the resources again, then follow events without an ID."
  },
  "precondition_failed": {
    "status": 412,
    "retryable": false,
    "title": "Resource changed",
    "help": "Read the resource again and send its new ETag in If-Match."
  },
  "payload_too_large": {
    "status": 413,
    "retryable": false,
    "title": "Body too large",
    "help": "Send at most 1 MiB."
  },
  "unsupported_media_type": {
    "status": 415,
    "retryable": false,
    "title": "Unsupported media type",
    "help": "Send application/json in UTF-8."
  },
  "idempotency_key_reused": {
    "status": 422,
    "retryable": false,
    "title": "Idempotency key reused",
    "help": "Use a new Idempotency-Key for a different request."
  },
  "precondition_required": {
    "status": 428,
    "retryable": false,
    "title": "If-Match required",
    "help": "Read the resource and send its ETag in If-Match."
  },
  "rate_limited": {
    "status": 429,
    "retryable": true,
    "title": "Too many requests",
    "help": "Wait for the seconds given in Retry-After."
  },
  "header_too_large": {
    "status": 431,
    "retryable": false,
    "title": "Headers too large",
    "help": "Send at most 16 KiB of headers."
  },
  "internal": {
    "status": 500,
    "retryable": false,
    "title": "Internal error",
    "help": "This is a defect. Report it with the correlation ID."
  },
  "unavailable": {
    "status": 503,
    "retryable": true,
    "title": "Temporarily unavailable",
    "help": "Retry after the seconds given in Retry-After. No changes were made."
  }
} as const;

export type ErrorCode = keyof typeof ERRORS;

export type OperationInfo = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** The Idempotency-Key header must be there. */
  idempotency?: 'required';
  /** The version that the change is based on must be named in If-Match. */
  ifMatch?: true;
  /** The response holds a secret that is shown once. */
  secret?: true;
  /** Needs no credential. */
  public?: true;
  body?: true;
  bodyType?: 'application/x-www-form-urlencoded';
  stream?: 'application/jsonl' | 'text/event-stream';
  /** The response is a page with a cursor. */
  page?: true;
}>;

export const operations = {
  meGet: { method: 'GET', path: '/api/v1/me' },
  organizationList: { method: 'GET', path: '/api/v1/organizations', page: true },
  organizationCreate: { method: 'POST', path: '/api/v1/organizations', idempotency: 'required', body: true },
  organizationGet: { method: 'GET', path: '/api/v1/organizations/{organization_id}' },
  organizationUpdate: { method: 'PATCH', path: '/api/v1/organizations/{organization_id}', ifMatch: true, body: true },
  organizationLimitList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/limits' },
  organizationMemberList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/members', page: true },
  organizationMemberUpdate: { method: 'PATCH', path: '/api/v1/organizations/{organization_id}/members/{user_id}', ifMatch: true, body: true },
  organizationMemberRemove: { method: 'DELETE', path: '/api/v1/organizations/{organization_id}/members/{user_id}' },
  invitationList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/invitations', page: true },
  invitationCreate: { method: 'POST', path: '/api/v1/organizations/{organization_id}/invitations', idempotency: 'required', secret: true, body: true },
  invitationRevoke: { method: 'DELETE', path: '/api/v1/organizations/{organization_id}/invitations/{invitation_id}' },
  invitationAccept: { method: 'POST', path: '/api/v1/invitations/accept', idempotency: 'required', body: true },
  projectList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/projects', page: true },
  projectCreate: { method: 'POST', path: '/api/v1/organizations/{organization_id}/projects', idempotency: 'required', body: true },
  projectGet: { method: 'GET', path: '/api/v1/projects/{project_id}' },
  projectUpdate: { method: 'PATCH', path: '/api/v1/projects/{project_id}', ifMatch: true, body: true },
  projectDelete: { method: 'DELETE', path: '/api/v1/projects/{project_id}' },
  projectMemberList: { method: 'GET', path: '/api/v1/projects/{project_id}/members', page: true },
  projectMemberPut: { method: 'PUT', path: '/api/v1/projects/{project_id}/members/{user_id}', body: true },
  projectMemberRemove: { method: 'DELETE', path: '/api/v1/projects/{project_id}/members/{user_id}' },
  serviceAccountList: { method: 'GET', path: '/api/v1/projects/{project_id}/service-accounts', page: true },
  serviceAccountCreate: { method: 'POST', path: '/api/v1/projects/{project_id}/service-accounts', idempotency: 'required', secret: true, body: true },
  serviceAccountGet: { method: 'GET', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}' },
  serviceAccountUpdate: { method: 'PATCH', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}', ifMatch: true, body: true },
  serviceAccountDelete: { method: 'DELETE', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}' },
  serviceAccountSecretRotate: { method: 'POST', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/secret/rotate', idempotency: 'required', secret: true, body: true },
  serviceAccountTokenList: { method: 'GET', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/tokens', page: true },
  serviceAccountTokenCreate: { method: 'POST', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/tokens', idempotency: 'required', secret: true, body: true },
  serviceAccountTokenRevoke: { method: 'DELETE', path: '/api/v1/projects/{project_id}/service-accounts/{service_account_id}/tokens/{token_id}' },
  serviceAccountTokenIssue: { method: 'POST', path: '/api/v1/auth/token', secret: true, public: true, body: true, bodyType: 'application/x-www-form-urlencoded' },
  apiTokenList: { method: 'GET', path: '/api/v1/tokens', page: true },
  apiTokenCreate: { method: 'POST', path: '/api/v1/tokens', idempotency: 'required', secret: true, body: true },
  apiTokenRevoke: { method: 'DELETE', path: '/api/v1/tokens/{token_id}' },
  sshKeyList: { method: 'GET', path: '/api/v1/ssh-keys', page: true },
  sshKeyCreate: { method: 'POST', path: '/api/v1/ssh-keys', idempotency: 'required', body: true },
  sshKeyGet: { method: 'GET', path: '/api/v1/ssh-keys/{ssh_key_id}' },
  sshKeyDelete: { method: 'DELETE', path: '/api/v1/ssh-keys/{ssh_key_id}' },
  webSessionList: { method: 'GET', path: '/api/v1/web-sessions', page: true },
  webSessionRevoke: { method: 'DELETE', path: '/api/v1/web-sessions/{web_session_id}' },
  regionList: { method: 'GET', path: '/api/v1/regions', page: true },
  skuList: { method: 'GET', path: '/api/v1/skus', page: true },
  skuGet: { method: 'GET', path: '/api/v1/skus/{sku_name}' },
  osImageList: { method: 'GET', path: '/api/v1/os-images', page: true },
  osImageGet: { method: 'GET', path: '/api/v1/os-images/{image_name}' },
  capacityList: { method: 'GET', path: '/api/v1/projects/{project_id}/capacity', page: true },
  quotaGet: { method: 'GET', path: '/api/v1/projects/{project_id}/quota' },
  usageList: { method: 'GET', path: '/api/v1/projects/{project_id}/usage', page: true },
  usageSummaryGet: { method: 'GET', path: '/api/v1/projects/{project_id}/usage/summary' },
  allocationEstimate: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations:estimate', body: true },
  allocationCreate: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations', idempotency: 'required', body: true },
  allocationList: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations', page: true },
  allocationGet: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}' },
  allocationTimeline: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/timeline', page: true },
  allocationUpdate: { method: 'PATCH', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}', ifMatch: true, body: true },
  allocationRelease: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/release', idempotency: 'required', body: true },
  allocationStop: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/stop', idempotency: 'required', body: true },
  allocationStart: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/start', idempotency: 'required', body: true },
  allocationReboot: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reboot', idempotency: 'required', body: true },
  allocationReinstall: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reinstall', idempotency: 'required', body: true },
  terminalTicketCreate: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/terminal-ticket', secret: true, body: true },
  terminalSessionList: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/sessions', page: true },
  terminalSessionGet: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/sessions/{session_id}' },
  terminalSessionClose: { method: 'DELETE', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/sessions/{session_id}' },
  terminalRecordingGet: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/sessions/{session_id}/recording', stream: 'application/jsonl' },
  accessGrantList: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/access-grants', page: true },
  accessGrantCreate: { method: 'POST', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/access-grants', idempotency: 'required', body: true },
  accessGrantRevoke: { method: 'DELETE', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/access-grants/{access_grant_id}' },
  accessPolicyGet: { method: 'GET', path: '/api/v1/organizations/{organization_id}/access-policy' },
  accessPolicyUpdate: { method: 'PATCH', path: '/api/v1/organizations/{organization_id}/access-policy', ifMatch: true, body: true },
  allocationWipeCertificateGet: { method: 'GET', path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/wipe-certificate' },
  wipeCertificateKeyList: { method: 'GET', path: '/api/v1/wipe-certificate-keys', public: true, page: true },
  adminNodeSlotProofList: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/wipe-proofs', page: true },
  adminWipeProofVerify: { method: 'GET', path: '/api/v1/admin/wipe-proofs/verify' },
  quotaRequestList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/quota-requests', page: true },
  quotaRequestCreate: { method: 'POST', path: '/api/v1/organizations/{organization_id}/quota-requests', idempotency: 'required', body: true },
  quotaRequestWithdraw: { method: 'DELETE', path: '/api/v1/organizations/{organization_id}/quota-requests/{quota_request_id}' },
  auditLogList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/audit-logs', page: true },
  auditLogExport: { method: 'GET', path: '/api/v1/organizations/{organization_id}/audit-logs/export', stream: 'application/jsonl' },
  adminAuditLogList: { method: 'GET', path: '/api/v1/admin/audit-logs', page: true },
  adminAuditLogVerify: { method: 'GET', path: '/api/v1/admin/audit-logs/verify' },
  eventList: { method: 'GET', path: '/api/v1/projects/{project_id}/events', page: true },
  eventStream: { method: 'GET', path: '/api/v1/projects/{project_id}/events/stream', stream: 'text/event-stream' },
  organizationEventList: { method: 'GET', path: '/api/v1/organizations/{organization_id}/events', page: true },
  organizationEventStream: { method: 'GET', path: '/api/v1/organizations/{organization_id}/events/stream', stream: 'text/event-stream' },
  adminEventStream: { method: 'GET', path: '/api/v1/admin/events/stream', stream: 'text/event-stream' },
  traceGet: { method: 'GET', path: '/api/v1/projects/{project_id}/trace' },
  adminTraceGet: { method: 'GET', path: '/api/v1/admin/trace' },
  workflowRunList: { method: 'GET', path: '/api/v1/projects/{project_id}/workflow-runs', page: true },
  workflowRunGet: { method: 'GET', path: '/api/v1/projects/{project_id}/workflow-runs/{workflow_run_id}' },
  workflowRunStepList: { method: 'GET', path: '/api/v1/projects/{project_id}/workflow-runs/{workflow_run_id}/steps', page: true },
  adminWorkflowRunList: { method: 'GET', path: '/api/v1/admin/workflow-runs', page: true },
  adminWorkflowRunGet: { method: 'GET', path: '/api/v1/admin/workflow-runs/{workflow_run_id}' },
  adminWorkflowRunStepList: { method: 'GET', path: '/api/v1/admin/workflow-runs/{workflow_run_id}/steps', page: true },
  adminWorkflowRunRetry: { method: 'POST', path: '/api/v1/admin/workflow-runs/{workflow_run_id}/retry', idempotency: 'required', body: true },
  adminWorkflowRunCancel: { method: 'POST', path: '/api/v1/admin/workflow-runs/{workflow_run_id}/cancel', idempotency: 'required', body: true },
  adminOrganizationList: { method: 'GET', path: '/api/v1/admin/organizations', page: true },
  adminOrganizationCreate: { method: 'POST', path: '/api/v1/admin/organizations', idempotency: 'required', secret: true, body: true },
  adminUserList: { method: 'GET', path: '/api/v1/admin/users', page: true },
  adminUserGet: { method: 'GET', path: '/api/v1/admin/users/{user_id}' },
  adminUserUpdate: { method: 'PATCH', path: '/api/v1/admin/users/{user_id}', ifMatch: true, body: true },
  adminRegionList: { method: 'GET', path: '/api/v1/admin/regions', page: true },
  adminRegionGet: { method: 'GET', path: '/api/v1/admin/regions/{region_name}' },
  adminRegionCreate: { method: 'POST', path: '/api/v1/admin/regions', idempotency: 'required', body: true },
  adminRegionUpdate: { method: 'PATCH', path: '/api/v1/admin/regions/{region_name}', ifMatch: true, body: true },
  adminRegionRetire: { method: 'POST', path: '/api/v1/admin/regions/{region_name}/retire', idempotency: 'required', body: true },
  adminSkuList: { method: 'GET', path: '/api/v1/admin/skus', page: true },
  adminSkuGet: { method: 'GET', path: '/api/v1/admin/skus/{sku_name}' },
  adminSkuCreate: { method: 'POST', path: '/api/v1/admin/skus', idempotency: 'required', body: true },
  adminSkuUpdate: { method: 'PATCH', path: '/api/v1/admin/skus/{sku_name}', ifMatch: true, body: true },
  adminSkuRetire: { method: 'POST', path: '/api/v1/admin/skus/{sku_name}/retire', idempotency: 'required', body: true },
  adminVmProfileList: { method: 'GET', path: '/api/v1/admin/vm-profiles', page: true },
  adminVmProfileGet: { method: 'GET', path: '/api/v1/admin/vm-profiles/{vm_profile_name}' },
  adminVmProfileCreate: { method: 'POST', path: '/api/v1/admin/vm-profiles', idempotency: 'required', body: true },
  adminVmProfileUpdate: { method: 'PATCH', path: '/api/v1/admin/vm-profiles/{vm_profile_name}', ifMatch: true, body: true },
  adminVmProfileRetire: { method: 'POST', path: '/api/v1/admin/vm-profiles/{vm_profile_name}/retire', idempotency: 'required', body: true },
  adminPriceList: { method: 'GET', path: '/api/v1/admin/prices', page: true },
  adminPriceGet: { method: 'GET', path: '/api/v1/admin/prices/{price_id}' },
  adminPriceCreate: { method: 'POST', path: '/api/v1/admin/prices', idempotency: 'required', body: true },
  adminPriceCancel: { method: 'POST', path: '/api/v1/admin/prices/{price_id}/cancel', idempotency: 'required', body: true },
  adminPoolList: { method: 'GET', path: '/api/v1/admin/pools', page: true },
  adminPoolGet: { method: 'GET', path: '/api/v1/admin/pools/{pool_name}' },
  adminPoolCreate: { method: 'POST', path: '/api/v1/admin/pools', idempotency: 'required', body: true },
  adminPoolUpdate: { method: 'PATCH', path: '/api/v1/admin/pools/{pool_name}', ifMatch: true, body: true },
  adminPoolRetire: { method: 'POST', path: '/api/v1/admin/pools/{pool_name}/retire', idempotency: 'required', body: true },
  adminOsImageList: { method: 'GET', path: '/api/v1/admin/os-images', page: true },
  adminOsImageGet: { method: 'GET', path: '/api/v1/admin/os-images/{image_name}' },
  adminOsImageRegister: { method: 'POST', path: '/api/v1/admin/os-images', idempotency: 'required', body: true },
  adminOsImageUpdate: { method: 'PATCH', path: '/api/v1/admin/os-images/{image_name}', ifMatch: true, body: true },
  adminOsImageRetire: { method: 'POST', path: '/api/v1/admin/os-images/{image_name}/retire', idempotency: 'required', body: true },
  adminAllocationList: { method: 'GET', path: '/api/v1/admin/allocations', page: true },
  adminAllocationGet: { method: 'GET', path: '/api/v1/admin/allocations/{allocation_id}' },
  adminAllocationForceRelease: { method: 'POST', path: '/api/v1/admin/allocations/{allocation_id}/force-release', idempotency: 'required', body: true },
  adminAllocationForceCleanup: { method: 'POST', path: '/api/v1/admin/allocations/{allocation_id}/force-cleanup', idempotency: 'required', body: true },
  adminQuotaList: { method: 'GET', path: '/api/v1/admin/quotas', page: true },
  adminQuotaPut: { method: 'PUT', path: '/api/v1/admin/quotas', ifMatch: true, body: true },
  adminSchedulerSnapshot: { method: 'GET', path: '/api/v1/admin/scheduler/snapshot' },
  adminInvariantCheck: { method: 'GET', path: '/api/v1/admin/invariants' },
  adminClaimBackfill: { method: 'POST', path: '/api/v1/admin/claims/backfill', idempotency: 'required', body: true },
  adminCapacityList: { method: 'GET', path: '/api/v1/admin/capacity', page: true },
  adminCapacityHistoryList: { method: 'GET', path: '/api/v1/admin/capacity/history' },
  adminSlotMapList: { method: 'GET', path: '/api/v1/admin/slot-map', page: true },
  adminNodeList: { method: 'GET', path: '/api/v1/admin/nodes', page: true },
  adminNodeGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}' },
  adminNodeCreate: { method: 'POST', path: '/api/v1/admin/nodes', idempotency: 'required', secret: true, body: true },
  adminNodeUpdate: { method: 'PATCH', path: '/api/v1/admin/nodes/{node_id}', ifMatch: true, body: true },
  adminNodeHold: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/hold', idempotency: 'required', body: true },
  adminNodeLaunchFailuresClear: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/launch-failures/clear', idempotency: 'required', body: true },
  adminHoldCreate: { method: 'POST', path: '/api/v1/admin/holds', idempotency: 'required', body: true },
  adminNodeDrain: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/drain', idempotency: 'required', body: true },
  adminNodeConvertPlan: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/convert' },
  adminNodeConvert: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/convert', idempotency: 'required', body: true },
  adminNodeRetire: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/retire', idempotency: 'required', body: true },
  adminNodeDelete: { method: 'DELETE', path: '/api/v1/admin/nodes/{node_id}' },
  adminNodeEnrollmentCreate: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/enrollment', idempotency: 'required', secret: true, body: true },
  adminNodeRebind: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/rebind', idempotency: 'required', secret: true, body: true },
  adminNodeAgentGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/agent' },
  adminNodeAgentRevoke: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/agent/revoke', idempotency: 'required', body: true },
  adminNodeAgentUpdate: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/agent/update', idempotency: 'required', body: true },
  adminNodeTaskList: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/tasks', page: true },
  adminNodeTaskGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/tasks/{task_id}' },
  adminRestoreGet: { method: 'GET', path: '/api/v1/admin/restore' },
  adminRestoreBegin: { method: 'POST', path: '/api/v1/admin/restore', idempotency: 'required', body: true },
  adminNodeRestoreRelease: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/restore-release', idempotency: 'required', body: true },
  adminClockGet: { method: 'GET', path: '/api/v1/admin/clock' },
  adminClockConfirm: { method: 'POST', path: '/api/v1/admin/clock/confirm', idempotency: 'required', ifMatch: true, body: true },
  adminNodeDiscoveryCreate: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery', idempotency: 'required', body: true },
  adminNodeDiscoveryGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/slice-topology/discovery' },
  adminNodeDiscoveryFactsGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/slice-topology/facts' },
  adminNodeSlotList: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/resource-slots', page: true },
  adminNodeSlotGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}' },
  adminNodeSlotApprove: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/approve', idempotency: 'required', body: true },
  adminNodeSlotDisable: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/disable', idempotency: 'required', ifMatch: true, body: true },
  adminNodeSlotEnable: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/enable', idempotency: 'required', ifMatch: true, body: true },
  adminNodeSlotQuarantine: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/quarantine', idempotency: 'required', ifMatch: true, body: true },
  adminNodeSlotRepair: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/repair', idempotency: 'required', ifMatch: true, body: true },
  adminNodeSlotMarkWiped: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/resource-slots/{slot_id}/mark-wiped', idempotency: 'required', body: true },
  adminNodeDiskList: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/disks', page: true },
  adminNodeDiskApprove: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/disks', idempotency: 'required', body: true },
  adminNodeDiskExclude: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/disks/exclude', idempotency: 'required', body: true },
  adminNodeDiskRevoke: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/disks/{disk_ownership_id}/revoke', idempotency: 'required', body: true },
  adminNodeHealthGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/health' },
  adminNodeHealthProbe: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/health/probe', idempotency: 'required', body: true },
  adminNodeHealthOverridePut: { method: 'PUT', path: '/api/v1/admin/nodes/{node_id}/health/overrides/{source}', body: true },
  adminNodeHealthOverrideDelete: { method: 'DELETE', path: '/api/v1/admin/nodes/{node_id}/health/overrides/{source}' },
  adminHealthBreakerGet: { method: 'GET', path: '/api/v1/admin/health/breaker' },
  adminHealthBreakerReset: { method: 'POST', path: '/api/v1/admin/health/breaker/reset', idempotency: 'required', ifMatch: true, body: true },
  adminNodeInventoryGet: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/inventory' },
  adminNodeVmRemove: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/vms/{vm_name}/remove', idempotency: 'required', body: true },
  adminNodeBundleLeaseEnd: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/bundle-leases/{allocation_id}/end', idempotency: 'required', body: true },
  adminNodeImageList: { method: 'GET', path: '/api/v1/admin/nodes/{node_id}/images' },
  adminNodeImagePull: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/images/pull', idempotency: 'required', body: true },
  adminNodeImageEvict: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/images/evict', idempotency: 'required', body: true },
  adminNodeImageVerify: { method: 'POST', path: '/api/v1/admin/nodes/{node_id}/images/verify', idempotency: 'required', body: true },
  adminPlatformKeyList: { method: 'GET', path: '/api/v1/admin/platform-keys', page: true },
  adminPlatformKeyRotate: { method: 'POST', path: '/api/v1/admin/platform-keys/rotate', idempotency: 'required', body: true },
  adminTrustKeyList: { method: 'GET', path: '/api/v1/admin/trust-keys', page: true },
  adminTrustKeyGet: { method: 'GET', path: '/api/v1/admin/trust-keys/{trust_key_id}' },
  adminTrustKeyCreate: { method: 'POST', path: '/api/v1/admin/trust-keys', idempotency: 'required', body: true },
  adminTrustKeyActivate: { method: 'POST', path: '/api/v1/admin/trust-keys/{trust_key_id}/activate', idempotency: 'required', ifMatch: true, body: true },
  adminTrustKeyRetire: { method: 'POST', path: '/api/v1/admin/trust-keys/{trust_key_id}/retire', idempotency: 'required', ifMatch: true, body: true },
  adminTrustKeyRevoke: { method: 'POST', path: '/api/v1/admin/trust-keys/{trust_key_id}/revoke', idempotency: 'required', ifMatch: true, body: true },
  adminLogList: { method: 'GET', path: '/api/v1/admin/logs', page: true },
  adminSiteExport: { method: 'GET', path: '/api/v1/admin/site' },
  adminSitePlan: { method: 'POST', path: '/api/v1/admin/site/plan', body: true },
  adminSiteApply: { method: 'POST', path: '/api/v1/admin/site/apply', idempotency: 'required', body: true },
  adminSitePolicyGet: { method: 'GET', path: '/api/v1/admin/site-policy' },
  adminSitePolicyUpdate: { method: 'PATCH', path: '/api/v1/admin/site-policy', ifMatch: true, body: true },
  adminSignUpRequestList: { method: 'GET', path: '/api/v1/admin/sign-up-requests', page: true },
  adminSignUpRequestApprove: { method: 'POST', path: '/api/v1/admin/sign-up-requests/{sign_up_request_id}/approve', idempotency: 'required', body: true },
  adminSignUpRequestReject: { method: 'POST', path: '/api/v1/admin/sign-up-requests/{sign_up_request_id}/reject', idempotency: 'required', body: true },
  adminQuotaRequestList: { method: 'GET', path: '/api/v1/admin/quota-requests', page: true },
  adminQuotaRequestApprove: { method: 'POST', path: '/api/v1/admin/quota-requests/{quota_request_id}/approve', idempotency: 'required', body: true },
  adminQuotaRequestReject: { method: 'POST', path: '/api/v1/admin/quota-requests/{quota_request_id}/reject', idempotency: 'required', body: true },
  adminGroupMappingList: { method: 'GET', path: '/api/v1/admin/group-mappings', page: true },
  adminGroupMappingCreate: { method: 'POST', path: '/api/v1/admin/group-mappings', idempotency: 'required', body: true },
  adminGroupMappingDelete: { method: 'DELETE', path: '/api/v1/admin/group-mappings/{group_mapping_id}' },
  adminGroupSync: { method: 'POST', path: '/api/v1/admin/group-mappings/sync', idempotency: 'required' },
  adminGroupSyncPlan: { method: 'POST', path: '/api/v1/admin/group-mappings/sync/plan', body: true },
  adminGroupSyncApply: { method: 'POST', path: '/api/v1/admin/group-mappings/sync/apply', idempotency: 'required', body: true },
  adminDoctorGet: { method: 'GET', path: '/api/v1/admin/doctor' },
  adminSetupGet: { method: 'GET', path: '/api/v1/admin/setup' },
  adminBackupList: { method: 'GET', path: '/api/v1/admin/backups', page: true },
  adminBackupRecord: { method: 'POST', path: '/api/v1/admin/backups', idempotency: 'required', body: true },
} as const satisfies Readonly<Record<string, OperationInfo>>;

export type OperationId = keyof typeof operations;

export type Operations = {
  /** Get the caller, with organizations and projects */
  meGet: {
    request: Record<string, never>;
    response: Me;
  };
  /** List organizations of the caller */
  organizationList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: Organization[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create an enterprise organization with a default project; the caller becomes its owner. Only under the sign-up policy `open`. Otherwise an operator creates the organization (`adminOrganizationCreate`). */
  organizationCreate: {
    request: {
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** Display name. */
        display_name?: string | undefined;
      };
    };
    response: Organization;
  };
  /** Get an organization */
  organizationGet: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
    };
    response: Organization;
  };
  /** Change the display name */
  organizationUpdate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      body: {
        /** Display name. */
        display_name: string;
      };
    };
    response: Organization;
  };
  /** List limits of the organization and of the caller, and their usage. An operator sets the limits. GPU limits are quotas: see the quota of a project. */
  organizationLimitList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
    };
    response: {
      items: OrganizationLimit[];
    };
  };
  /** List members and their roles */
  organizationMemberList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: OrganizationMember[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Change a member's role. Takes effect within 60 seconds. The last owner cannot be demoted, and only an owner can add or remove owners. */
  organizationMemberUpdate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
        /** ID of the user. */
        user_id: string;
      };
      body: {
        role: 'owner' | 'admin' | 'member' | 'viewer';
      };
    };
    response: OrganizationMember;
  };
  /** Remove a member from the organization and all its projects. Takes effect within 60 seconds. The last owner cannot be removed. The member's tokens lose access to the organization. A member by a group of the identity provider does not return at a sign-in: only an accepted invitation brings the person back. */
  organizationMemberRemove: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
        /** ID of the user. */
        user_id: string;
      };
    };
    response: undefined;
  };
  /** List invitations */
  invitationList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: Invitation[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Invite a person; the token is shown once and bound to the email address */
  invitationCreate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      body: {
        email: string;
        /** Only an owner can invite an owner. */
        role: 'owner' | 'admin' | 'member' | 'viewer';
        /** Default: 604800. */
        expires_in_s?: number | undefined;
      };
    };
    response: {
      invitation: Invitation;
      /** Shown once. Send it to the invited person. */
      token: string;
    };
  };
  /** Withdraw a pending invitation */
  invitationRevoke: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
        /** ID of the invitation. */
        invitation_id: string;
      };
    };
    response: undefined;
  };
  /** Join the organization that an invitation token names. The verified email address of the caller must be the invited one. */
  invitationAccept: {
    request: {
      body: {
        token: string;
      };
    };
    response: Organization;
  };
  /** List projects of the organization that the caller can see */
  projectList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Only the project of this name. */
        name?: string | undefined;
      } | undefined;
    };
    response: {
      items: Project[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create a project */
  projectCreate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** Display name. */
        display_name?: string | undefined;
      };
    };
    response: Project;
  };
  /** Get a project */
  projectGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
    };
    response: Project;
  };
  /** Change the display name or the recording of sessions. `requires_recording` also ends open sessions that are not recorded. */
  projectUpdate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      body?: {
        /** Display name. */
        display_name?: string | undefined;
        /** Records terminals of this project, also where the access policy of the organization does not. */
        records_terminals?: boolean | undefined;
        /** Allows only recorded sessions in this project: records terminals, refuses every other kind. False leaves it to the organization. */
        requires_recording?: boolean | undefined;
      } | undefined;
    };
    response: Project;
  };
  /** Delete an empty project. Refused while the project has service accounts or claims. Its audit rows are kept. */
  projectDelete: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
    };
    response: undefined;
  };
  /** List members of the project. Owners and admins of the organization have access to every project and are not listed here. */
  projectMemberList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: ProjectMember[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Add a member of the organization to the project, or change the role */
  projectMemberPut: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the user. */
        user_id: string;
      };
      body: {
        role: 'admin' | 'member' | 'viewer';
      };
    };
    response: ProjectMember;
  };
  /** Remove a member from the project. Takes effect within 60 seconds. A member by a group of the identity provider does not return at a sign-in: add the person again. */
  projectMemberRemove: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the user. */
        user_id: string;
      };
    };
    response: undefined;
  };
  /** List service accounts of the project */
  serviceAccountList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: ServiceAccount[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create a service account; its client secret is shown once */
  serviceAccountCreate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** Purpose. */
        description?: string | undefined;
      };
    };
    response: {
      service_account: ServiceAccount;
      /** Shown once. Exchange it at serviceAccountTokenIssue. */
      client_secret: string;
    };
  };
  /** Get a service account */
  serviceAccountGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
    };
    response: ServiceAccount;
  };
  /** Enable, disable or describe a service account. A disabled account is refused within 60 seconds. */
  serviceAccountUpdate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
      body?: {
        state?: 'enabled' | 'disabled' | undefined;
        /** Purpose. */
        description?: string | undefined;
      } | undefined;
    };
    response: ServiceAccount;
  };
  /** Delete a service account and revoke its tokens */
  serviceAccountDelete: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
    };
    response: undefined;
  };
  /** Rotate the client secret; the old one expires after the overlap */
  serviceAccountSecretRotate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
      body?: {
        /** How long the old secret still works. Default: 0. */
        overlap_s?: number | undefined;
      } | undefined;
    };
    response: {
      service_account: ServiceAccount;
      /** Shown once. Exchange it at serviceAccountTokenIssue. */
      client_secret: string;
    };
  };
  /** List long-lived tokens of a service account */
  serviceAccountTokenList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: ApiToken[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create a long-lived token for a service account; shown once */
  serviceAccountTokenCreate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
      };
      body: TokenCreate;
    };
    response: TokenCreated;
  };
  /** Revoke a token of a service account. Takes effect within 60 seconds. */
  serviceAccountTokenRevoke: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the service account. */
        service_account_id: string;
        /** ID of the api token. */
        token_id: string;
      };
    };
    response: undefined;
  };
  /** OAuth 2.0 client credentials: exchange a client secret for a one-hour access token. The token is short-lived, so no Idempotency-Key is needed. Wrong credentials return 401 and count against the rate limit. */
  serviceAccountTokenIssue: {
    request: {
      body: {
        grant_type: 'client_credentials';
        /** ID of the service account. */
        client_id: string;
        client_secret: string;
        /** Space-separated scopes (default: all of the role). */
        scope?: string | undefined;
      };
    };
    response: {
      access_token: string;
      token_type: 'Bearer';
      expires_in: number;
      scope: string;
    };
  };
  /** List the caller's tokens */
  apiTokenList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: ApiToken[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create a token with scopes and expiry; it is shown once */
  apiTokenCreate: {
    request: {
      body: {
        /** Purpose. */
        name: string;
        /** `all`, `read`, a permission, or a prefix such as `service_account.*`. Never more than the creator holds. `fresh_sign_in`, which `all` does not include, stands for a fresh sign-in; only operators of the platform can grant it, for at most 7 days. */
        scopes: string[];
        /** Lifetime in seconds, at most one year. */
        expires_in_s: number;
        /** Bind the token to one project. */
        project_id?: string | undefined;
      };
    };
    response: TokenCreated;
  };
  /** Revoke a token. Takes effect within 60 seconds. */
  apiTokenRevoke: {
    request: {
      params: {
        /** ID of the api token. */
        token_id: string;
      };
    };
    response: undefined;
  };
  /** List the caller's SSH keys */
  sshKeyList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: SshKey[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Add a public key. Ed25519, ECDSA, RSA of at least 3072 bits and their FIDO forms. Options and comments are not kept. */
  sshKeyCreate: {
    request: {
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** One line in OpenSSH form. */
        public_key: string;
      };
    };
    response: SshKey;
  };
  /** Get an SSH key */
  sshKeyGet: {
    request: {
      params: {
        /** ID of the ssh key. */
        ssh_key_id: string;
      };
    };
    response: SshKey;
  };
  /** Remove a key */
  sshKeyDelete: {
    request: {
      params: {
        /** ID of the ssh key. */
        ssh_key_id: string;
      };
    };
    response: undefined;
  };
  /** List web sessions of the caller, newest first */
  webSessionList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: WebSession[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** End a web session of the caller. Takes effect within seconds; open streams and sessions of it end. */
  webSessionRevoke: {
    request: {
      params: {
        /** ID of the web session. */
        web_session_id: string;
      };
    };
    response: undefined;
  };
  /** List regions; a disabled region has a reason */
  regionList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: Region[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** List SKUs with prices and VM profiles */
  skuList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        capacity_shape?: 'baremetal' | 'gpu_slice' | undefined;
      } | undefined;
    };
    response: {
      items: Sku[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a SKU */
  skuGet: {
    request: {
      params: {
        /** Lower-case name, unique where it is used. */
        sku_name: string;
      };
    };
    response: Sku;
  };
  /** List operating system images */
  osImageList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Only images for this SKU. */
        sku_name?: string | undefined;
      } | undefined;
    };
    response: {
      items: OsImage[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get an image */
  osImageGet: {
    request: {
      params: {
        /** Image slug. */
        image_name: string;
      };
    };
    response: OsImage;
  };
  /** List capacity that can be launched now, per region and SKU */
  capacityList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: Capacity[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get GPU limits and usage of the project and its organization */
  quotaGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
    };
    response: {
      organization: Quota;
      project: Quota;
      /** Null without a limit. */
      gpus_remaining: number | null;
    };
  };
  /** List charged time per allocation, newest first */
  usageList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** ID of the allocation. */
        allocation_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: UsageRecord[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get the cost of the project this month, and its current cost per hour */
  usageSummaryGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
    };
    response: UsageSummary;
  };
  /** Estimate price, quota and fit without launching. Reads only: takes no Idempotency-Key and leaves no audit row. */
  allocationEstimate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      body: {
        /** SKU code. */
        sku_name: string;
        /** Region code. */
        region_name: string;
        gpu_count: number;
        /** Image slug of a slice; its newest version is pinned (default: the first default image of the SKU). Refused for bare metal. */
        image_name?: string | undefined;
      };
    };
    response: {
      fits_now: boolean;
      /** Number of nodes that fit it now, at most 100. */
      fits_on_nodes: number;
      /** Largest GPU count that one allocation of this SKU can get now. */
      largest_set: number;
      price_per_hour: Money;
      price_per_day: Money;
      price_per_month: Money;
      /** GPUs left in the quota after the launch; null without quota. */
      quota_gpus_after: number | null;
      /** Error code that a launch would return; null if it fits. */
      code: string | null;
      /** The result, then one entry for each reason why GPUs are unavailable: claimed, cleaning, cleanup_blocked, quarantined, unapproved, hardware_changed, unhealthy, incomplete, not_ready, held, fragmented, fabric, boot_kind, quota. */
      reasons: {
        code: string;
        [name: string]: unknown;
      }[];
      alternatives: LaunchAlternative[];
      /** All choices in order. The first available one is the default of a launch. */
      storage: {
        name: 'raw' | 'formatted';
        label: string;
        /** What the tenant gets, as sentences. */
        description: string;
        available: boolean;
        /** Why it is not available for this launch, as a sentence. */
        reason: string | null;
      }[];
      /** All choices in order. The first available one is the default of a launch. */
      network: {
        name: 'private_nat' | 'fabric';
        label: string;
        /** What the tenant gets, as sentences. */
        description: string;
        available: boolean;
        /** Why it is not available for this launch, as a sentence. */
        reason: string | null;
      }[];
      fabric: FabricOffer;
      /** The next known increase; null where none is known. No promise: allocations end earlier or are extended, and others launch. */
      expected: ExpectedCapacity | null;
    };
  };
  /** Launch a bare-metal node or a GPU slice. Returns 202 with the allocation; `progress` shows its steps. 409 returns reasons and alternatives. */
  allocationCreate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** SKU code. */
        sku_name: string;
        /** Region code. */
        region_name: string;
        gpu_count: number;
        /** Image slug of a slice; its newest version is pinned (default: the first default image of the SKU). Refused for bare metal. */
        image_name?: string | undefined;
        vm_profile?: string | undefined;
        ssh_key_ids?: string[] | undefined;
        /** Your own labels. */
        tags?: Record<string, string> | undefined;
        is_protected?: boolean | undefined;
        /** Released automatically this long after activation. */
        max_duration_s?: number | undefined;
        /** Data disks as blank block devices (raw), or with ext4 and mounted at /data/1, /data/2 and so on (formatted). The default is the first choice that the estimate lists as available. */
        storage?: 'raw' | 'formatted' | undefined;
        /** Network of a slice. The default is the first choice that the estimate lists as available. */
        network?: 'private_nat' | 'fabric' | undefined;
        /** Cloud-config or script for its first start, at most 64 KiB. For slices. */
        user_data?: string | undefined;
      };
    };
    response: Allocation;
  };
  /** List allocations of the project, newest first */
  allocationList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'requested' | 'provisioning' | 'active' | 'releasing' | 'released' | 'failed' | 'release_failed' | undefined;
        /** Lower-case name, unique where it is used. */
        name?: string | undefined;
      } | undefined;
    };
    response: {
      items: Allocation[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get an allocation */
  allocationGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
    };
    response: Allocation;
  };
  /** Get the timeline of an allocation, oldest first */
  allocationTimeline: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: TimelineEntry[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Change name, tags, protection or maximum duration */
  allocationUpdate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: {
        /** Lower-case name, unique where it is used. */
        name?: string | undefined;
        /** Your own labels. */
        tags?: Record<string, string> | undefined;
        is_protected?: boolean | undefined;
        /** Released automatically this long after activation. */
        max_duration_s?: number | null | undefined;
      } | undefined;
    };
    response: Allocation;
  };
  /** Release an allocation; charging ends now, and GPUs are reused only after a verified wipe. Accepted in every state that is not terminal, and again after release_failed. Refused while protected. */
  allocationRelease: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: Record<string, never> | undefined;
    };
    response: Allocation;
  };
  /** Stop a slice; its GPUs stay allocated and charged. Asks the guest OS to shut down, and powers the VM off after the timeout. The allocation stays active and charged until it is released; it keeps its GPUs, address and disks. Refused for bare metal, unless the allocation is active, and while another power change is running. A release cancels a power change. */
  allocationStop: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: {
        /** Seconds for the guest OS to shut down (default 60). */
        grace_s?: number | undefined;
        /** Power off without shutting down the guest OS. */
        is_hard?: boolean | undefined;
      } | undefined;
    };
    response: Allocation;
  };
  /** Start a slice, at the same address. Also starts a VM that was shut down in the guest OS. The power state becomes `on` when the VM is ready; otherwise `off` or `unknown`, with the reason. Refused for bare metal, unless the allocation is active, and while another power change is running. A release cancels a power change. */
  allocationStart: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: Record<string, never> | undefined;
    };
    response: Allocation;
  };
  /** Reboot a slice; its disks are kept. Asks the guest OS to reboot, and resets the VM if it does not respond. Refused for bare metal, unless the allocation is active, and while another power change is running. A release cancels a power change. */
  allocationReboot: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: {
        /** Reset without shutting down the guest OS. */
        is_hard?: boolean | undefined;
      } | undefined;
    };
    response: Allocation;
  };
  /** Reinstall a slice: the boot disk is overwritten, the data disks are kept. Stops the VM, writes the image to the boot disk (the disk of the first GPU) and starts the VM with a new host key. The disks of its other GPUs are kept. The allocation stays active and charged until it is released; it keeps its GPUs, address and disks. Refused while protected. Refused for bare metal, unless the allocation is active, and while another power change is running. A release cancels a power change. */
  allocationReinstall: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body?: {
        /** Another image, in its newest version (default: the current version). */
        image_name?: string | undefined;
        /** SSH keys to install (default: current keys). */
        ssh_key_ids?: string[] | undefined;
        /** Cloud-config or script for its first start, at most 64 KiB. Null removes it (default: unchanged). */
        user_data?: string | null | undefined;
      } | undefined;
    };
    response: Allocation;
  };
  /** Create a single-use ticket for a session with an allocation. Valid once, for 30 seconds, for this caller, allocation and kind. A terminal needs no SSH key. Viewers get the console read-only. Service accounts need the permission of the access policy of the organization. Terminals, SSH and forwards need a running VM; the serial console of a slice is available while it is provisioned, and bare metal has none. An allocation has at most 256 open sessions. Each request creates a new ticket, so no Idempotency-Key is needed. */
  terminalTicketCreate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body: {
        kind: 'terminal' | 'console' | 'ssh' | 'forward';
        /** Port of the VM; only for a forward. */
        port?: number | undefined;
        cols?: number | undefined;
        rows?: number | undefined;
      };
    };
    response: TerminalTicket;
  };
  /** List sessions of an allocation, newest first. Kept for 90 days, or as long as its recording. Unused tickets are not listed. */
  terminalSessionList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: TerminalSession[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a session */
  terminalSessionGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
        /** ID of the terminal session. */
        session_id: string;
      };
    };
    response: TerminalSession;
  };
  /** End a session. Allowed for the owner of the session and for project admins. A session ends within seconds, a ticket immediately. */
  terminalSessionClose: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
        /** ID of the terminal session. */
        session_id: string;
      };
    };
    response: undefined;
  };
  /** Get the recording of a terminal, as an asciicast. Kept as long as the access policy of the organization states. It contains output only, not input. */
  terminalRecordingGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
        /** ID of the terminal session. */
        session_id: string;
      };
    };
    response: {
      version: 2;
      width: number;
      height: number;
      [name: string]: unknown;
    } | (number | string)[];
  };
  /** List SSH keys granted on an allocation after launch */
  accessGrantList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: AccessGrant[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Grant an SSH key of a project member access to an allocation. Your own key or, for project admins, a key of any member. An active VM receives it immediately; a VM that is provisioning or off receives it when it starts. An allocation accepts at most 100 keys. A grant ends with the allocation, and when its owner leaves the project or deletes the key. */
  accessGrantCreate: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body: {
        /** ID of the ssh key. */
        ssh_key_id: string;
      };
    };
    response: AccessGrant;
  };
  /** Revoke a grant and remove the key from the VM. Allowed for the owner of the key, the user who granted it, and project admins. Open connections stay open. */
  accessGrantRevoke: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
        /** ID of the access grant. */
        access_grant_id: string;
      };
    };
    response: AccessGrant;
  };
  /** Get the access policy of the organization */
  accessPolicyGet: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
    };
    response: AccessPolicy;
  };
  /** Change the access policy of the organization. Shorter limits and `requires_recording` also apply to open sessions. Whether a terminal is recorded is decided when it opens. */
  accessPolicyUpdate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      body?: {
        /** A session without traffic in either direction ends after this time. */
        session_idle_s?: number | undefined;
        /** A session ends after this time at the latest. */
        session_max_s?: number | undefined;
        /** Sessions end when the sign-in that opened them expires. Tokens that expire or are revoked always end theirs. */
        ends_with_sign_in?: boolean | undefined;
        /** Terminal output is recorded. The user is informed when a terminal opens. */
        records_terminals?: boolean | undefined;
        /** Sessions that cannot be recorded are refused: SSH, forwarded ports and serial consoles. Terminals are recorded. Open sessions without recording end. */
        requires_recording?: boolean | undefined;
        /** How long recordings are kept. */
        recording_days?: number | undefined;
        /** Whether service accounts may open sessions. They have no SSH keys, so they cannot have grants. */
        allows_service_accounts?: boolean | undefined;
      } | undefined;
    };
    response: AccessPolicy;
  };
  /** Get the signed wipe certificate of an allocation. Available when the wipe is proven; until then 409 states what is missing. */
  allocationWipeCertificateGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
    };
    response: SignedWipeCertificate;
  };
  /** List public keys that verify wipe certificates, newest first; needs no sign-in */
  wipeCertificateKeyList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: WipeCertificateKey[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** List wipe proofs of a slot, newest first, including failed ones */
  adminNodeSlotProofList: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: WipeProof[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Verify the chains of wipe proofs against their audit rows */
  adminWipeProofVerify: {
    request: Record<string, never>;
    response: {
      intact: boolean;
      /** When the check ran. */
      checked_at: string;
      proofs: number;
      chains: number;
      findings: {
        kind: 'edited' | 'deleted' | 'reordered' | 'unaudited';
        /** The slot or node. */
        target_id: string | null;
        sequence: number | null;
        wipe_proof_id: string | null;
        detail: string;
      }[];
    };
  };
  /** List requests for a larger GPU limit, newest first */
  quotaRequestList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'open' | 'approved' | 'rejected' | 'withdrawn' | undefined;
      } | undefined;
    };
    response: {
      items: QuotaRequest[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Request a larger GPU limit for the organization or one of its projects. One request per limit is open at a time. Operators decide; the decision is an event. */
  quotaRequestCreate: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      body: {
        /** Omit it for the limit of the whole organization. */
        project_id?: string | undefined;
        /** The requested limit in GPUs. */
        gpu_limit: number;
        /** What the GPUs are for. Operators read it. */
        reason: string;
      };
    };
    response: QuotaRequest;
  };
  /** Withdraw an open request */
  quotaRequestWithdraw: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
        /** ID of the quota request. */
        quota_request_id: string;
      };
    };
    response: undefined;
  };
  /** List audit rows of the organization, newest first */
  auditLogList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        action?: string | undefined;
        actor_id?: string | undefined;
        target_id?: string | undefined;
        /** ID of the project. */
        project_id?: string | undefined;
        result?: 'success' | 'failure' | 'denied' | undefined;
        correlation_id?: string | undefined;
        /** Start time. */
        since?: string | undefined;
        /** Before. */
        until?: string | undefined;
      } | undefined;
    };
    response: {
      items: AuditLog[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
      /** The newest row that left the database. Exports and verification read older rows from the archive; lists do not. */
      archived_until: string | null;
    };
  };
  /** Export audit rows of the organization as JSON lines, oldest first */
  auditLogExport: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        action?: string | undefined;
        actor_id?: string | undefined;
        target_id?: string | undefined;
        /** ID of the project. */
        project_id?: string | undefined;
        result?: 'success' | 'failure' | 'denied' | undefined;
        correlation_id?: string | undefined;
        /** Start time. */
        since?: string | undefined;
        /** Before. */
        until?: string | undefined;
      } | undefined;
    };
    response: AuditLog;
  };
  /** List audit rows of every organization and of the platform, newest first */
  adminAuditLogList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        action?: string | undefined;
        actor_id?: string | undefined;
        target_id?: string | undefined;
        /** ID of the project. */
        project_id?: string | undefined;
        result?: 'success' | 'failure' | 'denied' | undefined;
        correlation_id?: string | undefined;
        /** Start time. */
        since?: string | undefined;
        /** Before. */
        until?: string | undefined;
        /** ID of the organization. */
        organization_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: AuditLog[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
      /** The newest row that left the database. Exports and verification read older rows from the archive; lists do not. */
      archived_until: string | null;
    };
  };
  /** Verify every audit chain against the signed heads kept outside the database */
  adminAuditLogVerify: {
    request: {
      query?: {
        /** ID of the organization. */
        organization_id?: string | undefined;
      } | undefined;
    };
    response: {
      intact: boolean;
      /** When the check ran. */
      checked_at: string;
      heads_file_lines: number;
      chains: AuditChainReport[];
    };
  };
  /** List events of the project in commit order, oldest first */
  eventList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        type?: string | undefined;
      } | undefined;
    };
    response: {
      items: ProjectEvent[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Stream events of the project (server-sent events). Starts now, or after the event named by Last-Event-ID. If the events after it are no longer available, the response is `gone`. An open stream that cannot continue ends with an event of type `problem`, whose data is the problem. A comment line every 15 seconds keeps the connection open. */
  eventStream: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        type?: string | undefined;
      } | undefined;
    };
    response: ProjectEvent;
  };
  /** List events of the organization and its projects in commit order, oldest first. An event of the organization itself, such as a decision about its GPU limit, has no `projectid`. */
  organizationEventList: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        type?: string | undefined;
      } | undefined;
    };
    response: {
      items: {
        specversion: '1.0';
        /** ID of the event. */
        id: string;
        type: string;
        source: string;
        /** ID of its subject. */
        subject: string;
        /** When it happened. */
        time: string;
        datacontenttype: 'application/json';
        correlationid: string;
        organizationid: string;
        projectid?: string | undefined;
        data: Record<string, unknown>;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Stream events of the organization and its projects (server-sent events). An event of the organization itself, such as a decision about its GPU limit, has no `projectid`. Starts now, or after the event named by Last-Event-ID. If the events after it are no longer available, the response is `gone`. An open stream that cannot continue ends with an event of type `problem`, whose data is the problem. A comment line every 15 seconds keeps the connection open. */
  organizationEventStream: {
    request: {
      params: {
        /** ID of the organization. */
        organization_id: string;
      };
      query?: {
        type?: string | undefined;
      } | undefined;
    };
    response: {
      specversion: '1.0';
      /** ID of the event. */
      id: string;
      type: string;
      source: string;
      /** ID of its subject. */
      subject: string;
      /** When it happened. */
      time: string;
      datacontenttype: 'application/json';
      correlationid: string;
      organizationid: string;
      projectid?: string | undefined;
      data: Record<string, unknown>;
    };
  };
  /** Stream events of the whole platform (server-sent events). Starts now, or after the event named by Last-Event-ID. If the events after it are no longer available, the response is `gone`. An open stream that cannot continue ends with an event of type `problem`, whose data is the problem. For live pages of operators. */
  adminEventStream: {
    request: {
      query?: {
        type?: string | undefined;
      } | undefined;
    };
    response: {
      specversion: '1.0';
      /** ID of the event. */
      id: string;
      type: string;
      source: string;
      /** ID of its subject. */
      subject: string;
      /** When it happened. */
      time: string;
      datacontenttype: 'application/json';
      correlationid: string;
      organizationid?: string | undefined;
      projectid?: string | undefined;
      data: Record<string, unknown>;
    };
  };
  /** Trace one ID within a project, in one timeline. Names no host and no device. Returns 404 if the project has no record of the ID. */
  traceGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query: {
        /** A correlation ID, or the ID of an allocation, node, slot, task or workflow run. */
        id: string;
      };
    };
    response: Trace;
  };
  /** Trace one ID across all hosts, in one timeline */
  adminTraceGet: {
    request: {
      query: {
        /** A correlation ID, or the ID of an allocation, node, slot, task or workflow run. */
        id: string;
      };
    };
    response: Trace;
  };
  /** List workflow runs of the project, newest first */
  workflowRunList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        subject_id?: string | undefined;
        workflow?: string | undefined;
        state?: 'pending' | 'running' | 'waiting' | 'done' | 'stuck' | 'cancelled' | undefined;
        correlation_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: WorkflowRun[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a workflow run */
  workflowRunGet: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
    };
    response: WorkflowRun;
  };
  /** Get the timeline of a workflow run, oldest first */
  workflowRunStepList: {
    request: {
      params: {
        /** ID of the project. */
        project_id: string;
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: WorkflowStep[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** List workflow runs of the whole platform, newest first */
  adminWorkflowRunList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        subject_id?: string | undefined;
        workflow?: string | undefined;
        state?: 'pending' | 'running' | 'waiting' | 'done' | 'stuck' | 'cancelled' | undefined;
        correlation_id?: string | undefined;
        /** ID of the organization. */
        organization_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: WorkflowRun[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a workflow run */
  adminWorkflowRunGet: {
    request: {
      params: {
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
    };
    response: WorkflowRun;
  };
  /** Get the timeline of a workflow run, oldest first */
  adminWorkflowRunStepList: {
    request: {
      params: {
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: WorkflowStep[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Retry a stuck workflow run from a step */
  adminWorkflowRunRetry: {
    request: {
      params: {
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
      body?: {
        /** Step to continue from (default: the stuck step). */
        step?: string | undefined;
      } | undefined;
    };
    response: WorkflowRun;
  };
  /** Cancel a workflow run before its next step */
  adminWorkflowRunCancel: {
    request: {
      params: {
        /** ID of the workflow run. */
        workflow_run_id: string;
      };
      body?: {
        /** Reason, shown in the timeline. */
        reason?: string | undefined;
      } | undefined;
    };
    response: WorkflowRun;
  };
  /** List every organization */
  adminOrganizationList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Lower-case name, unique where it is used. */
        name?: string | undefined;
      } | undefined;
    };
    response: {
      items: Organization[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Create an organization with a default project for another owner. Name one owner. A user becomes the owner at once. An email address gets an invitation as owner, whose token is shown once; the person may then sign up under every policy but `closed`. */
  adminOrganizationCreate: {
    request: {
      body: {
        /** Lower-case name, unique where it is used. */
        name: string;
        /** Display name. */
        display_name?: string | undefined;
        /** The owner, who has signed in before. */
        owner_user_id?: string | undefined;
        /** The owner, by invitation. */
        owner_email?: string | undefined;
        /** Default: `default_gpu_limit` of the site policy. Null for no limit. */
        gpu_limit?: number | null | undefined;
      };
    };
    response: {
      organization: Organization;
      invitation: Invitation | null;
      /** Token of the invitation, shown once. */
      token: string | null;
    };
  };
  /** List every user */
  adminUserList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        email?: string | undefined;
      } | undefined;
    };
    response: {
      items: User[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a user */
  adminUserGet: {
    request: {
      params: {
        /** ID of the user. */
        user_id: string;
      };
    };
    response: User;
  };
  /** Disable or enable a user, or change the platform role. Takes effect within 60 seconds. The last active superadmin cannot be demoted or disabled. */
  adminUserUpdate: {
    request: {
      params: {
        /** ID of the user. */
        user_id: string;
      };
      body?: {
        state?: 'active' | 'disabled' | undefined;
        platform_role?: 'superadmin' | 'ops' | null | undefined;
      } | undefined;
    };
    response: User;
  };
  /** List regions, with retired ones where requested */
  adminRegionList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Also list retired ones (default: false). */
        include_retired?: boolean | undefined;
      } | undefined;
    };
    response: {
      items: AdminRegion[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a region, also a retired one */
  adminRegionGet: {
    request: {
      params: {
        /** Region code. */
        region_name: string;
      };
    };
    response: AdminRegion;
  };
  /** Create a region, or bring a retired one back. A retired region of this name returns with the values of the request. */
  adminRegionCreate: {
    request: {
      body: RegionSpec;
    };
    response: AdminRegion;
  };
  /** Enable a region, disable it with a reason tenants read, or set its rules for wipes and fabric. A minimum of `purge` blocks approval of a disk that can only be cleared, and leaves a slot whose disk cannot meet it in cleanup_blocked. When overrides are no longer allowed, slots that one made available are quarantined. */
  adminRegionUpdate: {
    request: {
      params: {
        /** Region code. */
        region_name: string;
      };
      body?: {
        /** Display name. */
        display_name?: string | undefined;
        /** Whether tenants can launch (default: true). */
        enabled?: boolean | undefined;
        /** Shown to tenants while disabled. */
        disabled_reason?: string | null | undefined;
        /** Minimum wipe level between two tenants (default: clear). */
        wipe_minimum?: 'clear' | 'purge' | undefined;
        /** Whether a two-person override makes a slot schedulable (default: false). */
        allows_wipe_override?: boolean | undefined;
        /** Provider that keeps tenants apart on the fabric (default: none). With `none`, VMs started from then on have no fabric function. */
        fabric_isolation?: 'none' | undefined;
      } | undefined;
    };
    response: AdminRegion;
  };
  /** Retire a region: tenants no longer see it. Refused while it has nodes or allocations; reasons[] lists them. Creating it again brings it back. */
  adminRegionRetire: {
    request: {
      params: {
        /** Region code. */
        region_name: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: AdminRegion;
  };
  /** List SKUs, with retired ones where requested */
  adminSkuList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Also list retired ones (default: false). */
        include_retired?: boolean | undefined;
      } | undefined;
    };
    response: {
      items: AdminSku[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a SKU, also a retired one */
  adminSkuGet: {
    request: {
      params: {
        /** SKU code. */
        sku_name: string;
      };
    };
    response: AdminSku;
  };
  /** Create a SKU, or bring a retired one back. It can be launched once it has a price, and a slice once it has a VM profile. A retired SKU of this name returns with the values of the request, without its former prices and VM profiles. */
  adminSkuCreate: {
    request: {
      body: SkuSpec;
    };
    response: AdminSku;
  };
  /** Change a SKU, or enable or disable it. Its shape and GPU model do not change; its price is a resource of its own. Running allocations are untouched. */
  adminSkuUpdate: {
    request: {
      params: {
        /** SKU code. */
        sku_name: string;
      };
      body?: {
        /** Display name. */
        display_name?: string | undefined;
        /** PCI IDs, as vendor:device, of GPUs that are this model and that the product does not know. Hosts with such GPUs can then be added as this model. */
        gpu_ids?: string[] | undefined;
        /** GPU counts that a launch may request. Bare metal: only the whole node. */
        allowed_gpu_counts?: number[] | undefined;
        /** Whether tenants can launch it (default: true). */
        enabled?: boolean | undefined;
        /** Shown to tenants while disabled. */
        disabled_reason?: string | null | undefined;
      } | undefined;
    };
    response: AdminSku;
  };
  /** Retire a SKU: tenants no longer see it. Refused while it has allocations; reasons[] lists them. Its prices end, its VM profiles are retired. Creating it again brings it back. */
  adminSkuRetire: {
    request: {
      params: {
        /** SKU code. */
        sku_name: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: AdminSku;
  };
  /** List VM profiles and the hosts that cannot hold them */
  adminVmProfileList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Also list retired ones (default: false). */
        include_retired?: boolean | undefined;
        /** Only profiles of this SKU. */
        sku_name?: string | undefined;
      } | undefined;
    };
    response: {
      items: AdminVmProfile[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a VM profile, also a retired one */
  adminVmProfileGet: {
    request: {
      params: {
        /** Name of the VM profile, unique in the catalog. */
        vm_profile_name: string;
      };
    };
    response: AdminVmProfile;
  };
  /** Create a VM profile of a SKU, or bring a retired one back. The response lists the hosts that cannot hold the VM; launches with this profile are not placed on them. */
  adminVmProfileCreate: {
    request: {
      body: VmProfileSpec;
    };
    response: AdminVmProfile;
  };
  /** Change the size or memory of a VM profile, or make it the default. Running allocations keep their size; the next launch gets the new one. */
  adminVmProfileUpdate: {
    request: {
      params: {
        /** Name of the VM profile, unique in the catalog. */
        vm_profile_name: string;
      };
      body?: {
        vcpu_count?: number | undefined;
        memory_mib?: number | undefined;
        /** Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none. */
        hugepages?: 'auto' | 'none' | '2M' | '1G' | undefined;
        /** strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node. */
        numa_policy?: 'strict' | 'preferred' | 'none' | undefined;
        /** Used by launches of this GPU count that name no profile. It replaces the earlier default. */
        is_default?: boolean | undefined;
      } | undefined;
    };
    response: AdminVmProfile;
  };
  /** Retire a VM profile: launches no longer use it. Refused for the only default of a GPU count of an enabled SKU. Running allocations keep their size. Creating it again brings it back. */
  adminVmProfileRetire: {
    request: {
      params: {
        /** Name of the VM profile, unique in the catalog. */
        vm_profile_name: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: AdminVmProfile;
  };
  /** List prices with history and future, newest first */
  adminPriceList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Only prices of this SKU. */
        sku_name?: string | undefined;
      } | undefined;
    };
    response: {
      items: Price[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a price, also a past or cancelled one */
  adminPriceGet: {
    request: {
      params: {
        /** ID of the price. */
        price_id: string;
      };
    };
    response: Price;
  };
  /** Set the price of a SKU from now, or from a later time. A launch is charged the price that is current when it is accepted, until its release; a running allocation keeps its price. */
  adminPriceCreate: {
    request: {
      body: PriceSpec;
    };
    response: Price;
  };
  /** Cancel a price that is not in effect yet */
  adminPriceCancel: {
    request: {
      params: {
        /** ID of the price. */
        price_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Price;
  };
  /** List pools with their number of nodes */
  adminPoolList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Also list retired ones (default: false). */
        include_retired?: boolean | undefined;
      } | undefined;
    };
    response: {
      items: Pool[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a pool, also a retired one */
  adminPoolGet: {
    request: {
      params: {
        /** Name of the pool. */
        pool_name: string;
      };
    };
    response: Pool;
  };
  /** Create a pool, or bring a retired one back. The nodes of a dedicated pool serve one organization only; those of a shared pool serve all. */
  adminPoolCreate: {
    request: {
      body: PoolSpec;
    };
    response: Pool;
  };
  /** Change the purpose of a pool, or the organization of an empty one */
  adminPoolUpdate: {
    request: {
      params: {
        /** Name of the pool. */
        pool_name: string;
      };
      body?: {
        /** What the pool is for, for operators. */
        purpose?: string | null | undefined;
        /** The organization that it is dedicated to; null for a shared pool (default). */
        organization_id?: string | null | undefined;
      } | undefined;
    };
    response: Pool;
  };
  /** Retire a pool without nodes. Refused while it has nodes; reasons[] lists them. Creating it again brings it back. */
  adminPoolRetire: {
    request: {
      params: {
        /** Name of the pool. */
        pool_name: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Pool;
  };
  /** List images, with retired ones where requested */
  adminOsImageList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Also list retired ones (default: false). */
        include_retired?: boolean | undefined;
      } | undefined;
    };
    response: {
      items: AdminOsImage[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get an image, also a retired one */
  adminOsImageGet: {
    request: {
      params: {
        /** Image slug. */
        image_name: string;
      };
    };
    response: AdminOsImage;
  };
  /** Register an image, or a new version of one. Launches that name the image use the newest version that is not retired, the others the newest that a host of the region has fetched; a host of each region is asked to fetch it. Allocations keep the digest they were launched with. A digest is registered once: a retired one cannot return. A new version is unverified unless the request states another trust. A retired image of this name returns with the values of the request. Refused where an enabled SKU would lose its last default image in a region, such as by a new version that is not verified. */
  adminOsImageRegister: {
    request: {
      body: ImageSpec;
    };
    response: AdminOsImage;
  };
  /** Change the name, channel, trust or SKUs of an image. Its versions do not change. Refused where an enabled SKU would lose its last default image in a region: to withdraw that image at once, disable the SKU first. */
  adminOsImageUpdate: {
    request: {
      params: {
        /** Image slug. */
        image_name: string;
      };
      body?: {
        /** Display name. */
        display_name?: string | undefined;
        /** A launch that names no image gets a stable one (default of a new image: stable). */
        channel?: 'stable' | 'candidate' | undefined;
        /** A launch that names no image gets a verified one (default: unverified). */
        trust?: 'unverified' | 'verified' | undefined;
        /** SKUs of slices that can use the image. Bare metal keeps the operating system of its node. */
        sku_names?: string[] | undefined;
      } | undefined;
    };
    response: AdminOsImage;
  };
  /** Retire an image, or one version of it. Without a digest the image is retired: tenants no longer see it, and registering it again brings it back. With a digest that version is retired, which cannot be undone; new launches use the newest version left, and without one the image is disabled. Refused where an enabled SKU would lose its last default image in a region. Running allocations continue. */
  adminOsImageRetire: {
    request: {
      params: {
        /** Image slug. */
        image_name: string;
      };
      body: {
        /** The version to retire (default: the whole image). */
        digest?: string | undefined;
        /** Reason, stored with the version and in the audit row. */
        reason: string;
      };
    };
    response: AdminOsImage;
  };
  /** List allocations of every organization, newest first */
  adminAllocationList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'requested' | 'provisioning' | 'active' | 'releasing' | 'released' | 'failed' | 'release_failed' | undefined;
        /** ID of the node. */
        node_id?: string | undefined;
        /** ID of the organization. */
        organization_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: AdminAllocation[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get an allocation with placement and claims */
  adminAllocationGet: {
    request: {
      params: {
        /** ID of the allocation. */
        allocation_id: string;
      };
    };
    response: AdminAllocation;
  };
  /** Release an allocation of an organization, even if protected. Cleanup and wipe proof are the same as for any release. charge_until is for a database that was restored from a backup: it charges an allocation only until the time at which its host ended it, also where a release has closed the charge since. It is accepted while the node of the allocation is held by the restore. */
  adminAllocationForceRelease: {
    request: {
      params: {
        /** ID of the allocation. */
        allocation_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
        /** When the charge ends: not before it began, and not after now or the end that it has (default: now). */
        charge_until?: string | undefined;
      };
    };
    response: AdminAllocation;
  };
  /** Retry the cleanup of an allocation whose cleanup is blocked. runtime_verified_absent only skips stopping the VM. adopted_generations is for a database that was restored from a backup: it repeats, for each slot that has a host_generation, what the host knows, and so confirms that the data on the host may be wiped. It is empty for a whole node without such slots. Only a verified wipe frees slots. */
  adminAllocationForceCleanup: {
    request: {
      params: {
        /** ID of the allocation. */
        allocation_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
        runtime_verified_absent: boolean;
        adopted_generations?: {
          /** ID of the slot. */
          slot_id: string;
          host_generation: number;
        }[] | undefined;
      };
    };
    response: AdminAllocation;
  };
  /** List GPU limits and usage */
  adminQuotaList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** ID of the organization. */
        organization_id?: string | undefined;
        /** ID of the project. */
        project_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: OperatorQuota[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Set the GPU limit of an organization or one of its projects. A limit below current usage stops new launches; running allocations are untouched. A limit that no operator set has version 1. */
  adminQuotaPut: {
    request: {
      body: {
        /** ID of the organization. */
        organization_id: string;
        /** ID of the project. */
        project_id?: string | undefined;
        gpu_limit: number | null;
      };
    };
    response: Quota;
  };
  /** Get the input of the scheduler, for replay with `gpuaas admin scheduler explain` */
  adminSchedulerSnapshot: {
    request: {
      query?: {
        /** Lower-case name, unique where it is used. */
        region_name?: string | undefined;
        /** Nodes. Default: 1000. */
        limit?: number | undefined;
      } | undefined;
    };
    response: Record<string, unknown>;
  };
  /** Run the read-only invariant queries now */
  adminInvariantCheck: {
    request: {
      query?: Record<string, never> | undefined;
    };
    response: {
      is_clean: boolean;
      /** When they ran. */
      checked_at: string;
      violations: {
        invariant: string;
        subject_id: string;
        detail: string;
      }[];
      /** Number of invariants checked. */
      checks: number;
    };
  };
  /** Create missing claim rows of node-bound allocations. One request processes one batch in one transaction. Continue with `after_id` until `next_after_id` is null. A dry run changes nothing, and a batch can be repeated. */
  adminClaimBackfill: {
    request: {
      body: {
        is_dry_run: boolean;
        /** ID of the allocation. */
        after_id?: string | undefined;
        /** Allocations. Default: 100. */
        limit?: number | undefined;
      };
    };
    response: {
      is_dry_run: boolean;
      claimed: {
        /** ID of the allocation. */
        allocation_id: string;
        /** ID of the node. */
        node_id: string;
      }[];
      skipped: {
        /** ID of the allocation. */
        allocation_id: string;
        reason: string;
      }[];
      /** ID of the allocation. */
      next_after_id: string | null;
    };
  };
  /** Get delivered, healthy, reserved, active, free, unapproved and blocked GPUs, and fragmentation */
  adminCapacityList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: {
        region_name: string;
        gpu_model: string;
        nodes: number;
        /** GPUs of nodes in service. */
        delivered_gpus: number;
        healthy_gpus: number;
        /** GPUs claimed by allocations. */
        reserved_gpus: number;
        /** GPUs of active allocations. */
        active_gpus: number;
        /** GPUs that can be launched now. */
        free_gpus: number;
        /** GPUs without an approved slot or data disk. */
        unapproved_gpus: number;
        /** All other GPUs: in cleanup, unhealthy, not ready, or in no free set. Of a SKU also those in use by, or held for, the other shape. Delivered GPUs are reserved, free, unapproved or blocked. */
        blocked_gpus: number;
        largest_set: number;
        empty_nodes: number;
        /** The same per SKU. GPUs of a flexible node count for both shapes. */
        skus: SkuCapacity[];
        fragmentation: string;
        /** When it was counted. */
        counted_at: string;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** List capacity samples, oldest first. One sample every 5 minutes, kept for 90 days. Long time ranges return fewer samples. */
  adminCapacityHistoryList: {
    request: {
      query?: {
        /** Lower-case name, unique where it is used. */
        region_name?: string | undefined;
        /** GPU model. */
        gpu_model?: string | undefined;
        /** Start time (default: one day ago). */
        since?: string | undefined;
      } | undefined;
    };
    response: {
      items: CapacitySample[];
    };
  };
  /** List every node with its slots, by name */
  adminSlotMapList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Lower-case name, unique where it is used. */
        region_name?: string | undefined;
      } | undefined;
    };
    response: {
      items: SlotMapRow[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** List nodes with mode, occupancy and free GPUs */
  adminNodeList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        /** Only the node of this name. */
        name?: string | undefined;
        /** Lower-case name, unique where it is used. */
        region_name?: string | undefined;
        state?: 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'draining' | 'retired' | 'deleted' | undefined;
      } | undefined;
    };
    response: {
      items: Node[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a node */
  adminNodeGet: {
    request: {
      params: node;
    };
    response: Node;
  };
  /** Add a host and create the enrollment token for its agent. Nothing is placed on it before its agent is seen, its health is ok and, for slices, slots are approved. */
  adminNodeCreate: {
    request: {
      body: {
        name: string;
        /** Region of the host. */
        region_name: string;
        /** Pool of the node (default: "shared"). */
        pool_name?: string | undefined;
        /** GPU model, as in the SKUs. */
        gpu_model: string;
        gpu_count: number;
        capacity_mode: 'slice' | 'baremetal' | 'flexible';
        /** The only host that may enroll as this node: each given field must match. Without it the first host that uses the token is bound to the node. */
        host?: NamedHost | undefined;
        /** Private network of the slices, behind the NAT of the host. */
        private_network?: string | undefined;
      };
    };
    response: {
      node: Node;
      enrollment: Enrollment;
    };
  };
  /** Move a node to another pool. Refused while other organizations than that of a dedicated pool hold claims on the node. */
  adminNodeUpdate: {
    request: {
      params: node;
      body: {
        /** The pool to move it to. */
        pool_name: string;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Node;
  };
  /** Hold a node for bare metal, or end the hold */
  adminNodeHold: {
    request: {
      params: node;
      body: {
        is_held: boolean;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Node;
  };
  /** Clear the failed launches of a node, so that placement resumes */
  adminNodeLaunchFailuresClear: {
    request: {
      params: node;
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Node;
  };
  /** Hold a number of clean nodes for bare metal; the scheduler selects them */
  adminHoldCreate: {
    request: {
      body: {
        /** Lower-case name, unique where it is used. */
        region_name: string;
        /** GPU model. */
        gpu_model: string;
        node_count: number;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      held_node_ids: string[];
      requested: number;
    };
  };
  /** Drain a node, or resume it; running allocations are untouched */
  adminNodeDrain: {
    request: {
      params: node;
      body: {
        is_draining: boolean;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Node;
  };
  /** Plan the conversion of a node */
  adminNodeConvertPlan: {
    request: {
      params: node;
      query: {
        to: 'slice' | 'baremetal';
      };
    };
    response: {
      /** ID of the node. */
      node_id: string;
      from: 'slice' | 'baremetal' | 'flexible';
      to: 'slice' | 'baremetal';
      is_possible: boolean;
      /** Blockers, as sentences. */
      blockers: string[];
      live_claims: number;
      steps: string[];
      gpus_gained: {
        slice: number;
        baremetal: number;
      };
      /** Send it back to apply exactly this plan. */
      plan_hash: string;
    };
  };
  /** Convert a node without claims, by plan hash */
  adminNodeConvert: {
    request: {
      params: node;
      body: {
        to: 'slice' | 'baremetal';
        plan_hash: string;
      };
    };
    response: Node;
  };
  /** Retire a host: nothing is placed on it and its agent cannot connect. Refused for an active node, which must be drained first, and while it has claims. Its certificates are revoked, open tasks cancelled, slots disabled. This cannot be undone; the host can be added again as a new node. */
  adminNodeRetire: {
    request: {
      params: node;
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Node;
  };
  /** Delete a retired node; its name and disks can be registered again. Refused while an approval to wipe one of its disks is open. Its history is kept. */
  adminNodeDelete: {
    request: {
      params: node;
    };
    response: undefined;
  };
  /** Create another enrollment token, if the first is lost or the certificate has expired. An unused earlier token stops working. Using the new one revokes the earlier certificates of the node. A node that is bound to a host accepts no other; `host` names the host of a node that is not bound yet. */
  adminNodeEnrollmentCreate: {
    request: {
      params: node;
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
        /** The only host that may enroll as this node: each given field must match. Without it the first host that uses the token is bound to the node. */
        host?: NamedHost | undefined;
      };
    };
    response: Enrollment;
  };
  /** Rebind a node to another host, and create its enrollment token. For a replaced host or mainboard. Refused for an active node, which must be drained first, and while it has claims. Ends every slot approval, wipe proof and disk approval of the node and its discoveries: the new host is discovered, approved and wiped like a new one. */
  adminNodeRebind: {
    request: {
      params: node;
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
        /** The only host that may enroll as this node: each given field must match. Without it the first host that uses the token is bound to the node. */
        host?: NamedHost | undefined;
      };
    };
    response: Enrollment;
  };
  /** Get the agent of a node: heartbeat, task kinds and certificates */
  adminNodeAgentGet: {
    request: {
      params: node;
    };
    response: {
      /** ID of the node. */
      node_id: string;
      is_connected: boolean;
      /** Last heartbeat. */
      last_seen_at: string | null;
      agent_version: string | null;
      boot_id: string | null;
      /** When the host booted. */
      booted_at: string | null;
      clock_skew_ms: number | null;
      kinds: string[];
      certificates: {
        serial_number: string;
        /** From. */
        not_before: string;
        /** Until. */
        not_after: string;
        /** When it was revoked. */
        revoked_at: string | null;
        revoked_reason: string | null;
      }[];
    };
  };
  /** Revoke every certificate of a node; its agent cannot connect until it is enrolled again. Running allocations are untouched. */
  adminNodeAgentRevoke: {
    request: {
      params: node;
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the node. */
      node_id: string;
      is_connected: boolean;
      /** Last heartbeat. */
      last_seen_at: string | null;
      agent_version: string | null;
      boot_id: string | null;
      /** When the host booted. */
      booted_at: string | null;
      clock_skew_ms: number | null;
      kinds: string[];
      certificates: {
        serial_number: string;
        /** From. */
        not_before: string;
        /** Until. */
        not_after: string;
        /** When it was revoked. */
        revoked_at: string | null;
        revoked_reason: string | null;
      }[];
    };
  };
  /** Update the agent to a release, by digest */
  adminNodeAgentUpdate: {
    request: {
      params: node;
      body: {
        version: string;
        digest: string;
      };
    };
    response: NodeTask;
  };
  /** List tasks of a node, newest first */
  adminNodeTaskList: {
    request: {
      params: node;
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'queued' | 'dispatched' | 'running' | 'completed' | 'failed' | 'expired' | 'unknown' | 'cancelled' | undefined;
      } | undefined;
    };
    response: {
      items: NodeTask[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a task of a node with the result of the host */
  adminNodeTaskGet: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the node task. */
        task_id: string;
      };
    };
    response: NodeTaskDetail;
  };
  /** Get the newest restore, with the nodes whose destructive tasks are held */
  adminRestoreGet: {
    request: Record<string, never>;
    response: RestoreStatus;
  };
  /** Record that the database was restored: end older credentials and hold destructive tasks */
  adminRestoreBegin: {
    request: {
      body: {
        /** End credentials, sessions and tickets created before this time (default: now). */
        older_than?: string | undefined;
        /** End also the older certificates of nodes, where one was revoked since the backup (default false). Every node is enrolled again. */
        ends_certificates?: boolean | undefined;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: RestoreStatus;
  };
  /** Release the held destructive tasks of a node after comparing the host with the claims */
  adminNodeRestoreRelease: {
    request: {
      params: node;
      body: {
        /** Release although the last inventory report has findings (default false). */
        accepts_findings?: boolean | undefined;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: RestoreStatus;
  };
  /** Get whether the clock of the database is trusted */
  adminClockGet: {
    request: {
      query?: Record<string, never> | undefined;
    };
    response: {
      /** Nothing is released, ended, deleted or marked because a time has passed. */
      is_held: boolean;
      /** The clock of the database now. */
      database_time: string;
      /** When a worker last checked it, by this clock; null before the first check. */
      checked_at: string | null;
      /** When the hold began, by this clock. */
      held_since: string | null;
      reason: string | null;
      /** How far the clock moved ahead of the time that a worker expected, in milliseconds. */
      jump_ms: number | null;
      /** Agents of nodes in service, those that sent a heartbeat since the hold began, and those of them whose host agrees with the database. When most agree the hold ends automatically. */
      agents: {
        known: number;
        reported: number;
        agreeing: number;
      };
      /** When the last hold ended. */
      ended_at: string | null;
      /** `agents`, `clock` if it returned, or the operator who confirmed it. */
      ended_by: string | null;
      version: number;
    };
  };
  /** Confirm that the clock of the database is right, and continue the paused work */
  adminClockConfirm: {
    request: {
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** Nothing is released, ended, deleted or marked because a time has passed. */
      is_held: boolean;
      /** The clock of the database now. */
      database_time: string;
      /** When a worker last checked it, by this clock; null before the first check. */
      checked_at: string | null;
      /** When the hold began, by this clock. */
      held_since: string | null;
      reason: string | null;
      /** How far the clock moved ahead of the time that a worker expected, in milliseconds. */
      jump_ms: number | null;
      /** Agents of nodes in service, those that sent a heartbeat since the hold began, and those of them whose host agrees with the database. When most agree the hold ends automatically. */
      agents: {
        known: number;
        reported: number;
        agreeing: number;
      };
      /** When the last hold ended. */
      ended_at: string | null;
      /** `agents`, `clock` if it returned, or the operator who confirmed it. */
      ended_by: string | null;
      version: number;
    };
  };
  /** Run discovery on the host and propose slots */
  adminNodeDiscoveryCreate: {
    request: {
      params: node;
      body?: Record<string, never> | undefined;
    };
    response: NodeTask;
  };
  /** Get the newest discovery: candidates, blockers, prerequisites and differences from approved slots */
  adminNodeDiscoveryGet: {
    request: {
      params: node;
    };
    response: Discovery;
  };
  /** Get the hardware facts of the newest discovery */
  adminNodeDiscoveryFactsGet: {
    request: {
      params: node;
    };
    response: Record<string, unknown>;
  };
  /** List slots of a node with bindings, claim and wipe proof */
  adminNodeSlotList: {
    request: {
      params: node;
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: Slot[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a slot */
  adminNodeSlotGet: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
    };
    response: Slot;
  };
  /** Approve candidates into slots: all, or those named. The request names the discovery by its hash; a newer discovery returns 412. A refusal lists every blocker. A new slot is quarantined until its first wipe, which approval starts, is proven. A changed slot can be approved again only while it has no claim. */
  adminNodeSlotApprove: {
    request: {
      params: node;
      body: {
        map_hash: string;
        slot_indexes?: number[] | undefined;
        wipe_method?: 'nvme_sanitize' | 'nvme_format' | 'blkdiscard' | undefined;
      };
    };
    response: {
      slots: Slot[];
    };
  };
  /** Disable a slot; a running allocation is untouched */
  adminNodeSlotDisable: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Slot;
  };
  /** Enable a disabled slot if it still matches its approval */
  adminNodeSlotEnable: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Slot;
  };
  /** Quarantine an unclaimed slot until it is repaired */
  adminNodeSlotQuarantine: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Slot;
  };
  /** Repair a slot: rebind devices, run discovery and wipe. The slot becomes available only with a wipe proof. Refused while an allocation holds the slot. */
  adminNodeSlotRepair: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: Slot;
  };
  /** Two-person override: accept a wipe without proof; takes effect when a second operator confirms. The first call requests it; a call by another operator within an hour confirms it. The wipe is recorded as overridden, never as verified: the slot becomes available only in a region that allows overrides. Refused while the slot has a claim. */
  adminNodeSlotMarkWiped: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the slot. */
        slot_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      override: {
        /** ID of the slot override. */
        id: string;
        /** ID of the slot. */
        slot_id: string;
        kind: 'mark_wiped';
        reason: string;
        requested_by: string;
        /** When it was requested. */
        requested_at: string;
        /** Deadline for a second operator to confirm. */
        expires_at: string;
        confirmed_by: string | null;
        /** When it was confirmed. */
        confirmed_at: string | null;
      };
      slot: Slot;
    };
  };
  /** List disks of a node that may be wiped or are excluded, and their blockers */
  adminNodeDiskList: {
    request: {
      params: node;
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: DiskOwnership[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Approve a disk for wiping, by serial. The agent never unmounts anything: it waits until the disk is free, wipes it and reads it back. Then discovery runs again. */
  adminNodeDiskApprove: {
    request: {
      params: node;
      body: {
        serial: string;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: DiskOwnership;
  };
  /** Exclude a disk from wiping, by serial, so that the whole node can be allocated. A node is not allocated as bare metal while its newest discovery shows a disk that is no boot disk, belongs to no slot and is neither wiped under an approval nor excluded. What a tenant writes to an excluded disk stays readable for the next one; its wipe certificate counts the disk. A disk that an allocation holds or used elsewhere is excluded only after a verified wipe. */
  adminNodeDiskExclude: {
    request: {
      params: node;
      body: {
        serial: string;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: DiskOwnership;
  };
  /** Revoke the approval of a disk before the wipe starts, or end its exclusion */
  adminNodeDiskRevoke: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the disk ownership. */
        disk_ownership_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: DiskOwnership;
  };
  /** Get health reports, overrides and effective alerts of a node and its slots */
  adminNodeHealthGet: {
    request: {
      params: node;
    };
    response: {
      /** ID of the node. */
      node_id: string;
      health: 'ok' | 'unhealthy' | 'unknown';
      /** Operations that the effective alerts prevent. */
      prevents: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
      /** Effective alerts, after overrides. */
      alerts: {
        /** Stable code, e.g. gpu_off_the_bus. */
        id: string;
        target: string;
        /** When it was first seen. */
        since: string;
        /** For operators. */
        message: string;
        /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
        tenant_message: string | null;
        classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
      }[];
      reports: {
        source: string;
        /** When the agent observed it. */
        observed_at: string;
        /** Checks that passed. */
        successes: string[];
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
      }[];
      overrides: {
        source: string;
        mode: 'merge' | 'replace';
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
        muted_alert_ids: string[];
        reason: string;
        created_by: string;
        /** When it was set. */
        created_at: string;
        /** When the override expires; null if it does not. */
        expires_at: string | null;
      }[];
      slots: {
        /** ID of the slot. */
        slot_id: string;
        slot_index: number;
        health: 'ok' | 'unhealthy' | 'unknown';
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
      }[];
    };
  };
  /** Run the health checks of the host now */
  adminNodeHealthProbe: {
    request: {
      params: node;
      body?: Record<string, never> | undefined;
    };
    response: NodeTask;
  };
  /** Override the alerts of a source: add, mute or replace them */
  adminNodeHealthOverridePut: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        source: string;
      };
      body: {
        mode: 'merge' | 'replace';
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
        muted_alert_ids: string[];
        /** When the override expires; null for no expiry. */
        expires_at: string | null;
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the node. */
      node_id: string;
      health: 'ok' | 'unhealthy' | 'unknown';
      /** Operations that the effective alerts prevent. */
      prevents: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
      /** Effective alerts, after overrides. */
      alerts: {
        /** Stable code, e.g. gpu_off_the_bus. */
        id: string;
        target: string;
        /** When it was first seen. */
        since: string;
        /** For operators. */
        message: string;
        /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
        tenant_message: string | null;
        classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
      }[];
      reports: {
        source: string;
        /** When the agent observed it. */
        observed_at: string;
        /** Checks that passed. */
        successes: string[];
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
      }[];
      overrides: {
        source: string;
        mode: 'merge' | 'replace';
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
        muted_alert_ids: string[];
        reason: string;
        created_by: string;
        /** When it was set. */
        created_at: string;
        /** When the override expires; null if it does not. */
        expires_at: string | null;
      }[];
      slots: {
        /** ID of the slot. */
        slot_id: string;
        slot_index: number;
        health: 'ok' | 'unhealthy' | 'unknown';
        alerts: {
          /** Stable code, e.g. gpu_off_the_bus. */
          id: string;
          target: string;
          /** When it was first seen. */
          since: string;
          /** For operators. */
          message: string;
          /** Shown to the tenants it affects as a notice; must not name the host or a device. Null for no notice. */
          tenant_message: string | null;
          classifications: ('prevent_allocations' | 'prevent_host_changes' | 'suppress_alert')[];
        }[];
      }[];
    };
  };
  /** Remove a health override */
  adminNodeHealthOverrideDelete: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        source: string;
      };
    };
    response: undefined;
  };
  /** Get the state of the circuit breaker */
  adminHealthBreakerGet: {
    request: {
      query?: Record<string, never> | undefined;
    };
    response: {
      is_tripped: boolean;
      /** When the circuit breaker tripped: too many hosts became unhealthy within 10 minutes. */
      tripped_at: string | null;
      reason: string | null;
      reset_by: string | null;
      /** When an operator reset it. */
      reset_at: string | null;
      version: number;
    };
  };
  /** Reset the circuit breaker, so that reports mark hosts unhealthy again */
  adminHealthBreakerReset: {
    request: {
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      is_tripped: boolean;
      /** When the circuit breaker tripped: too many hosts became unhealthy within 10 minutes. */
      tripped_at: string | null;
      reason: string | null;
      reset_by: string | null;
      /** When an operator reset it. */
      reset_at: string | null;
      version: number;
    };
  };
  /** Get the latest inventory report of a host, and its differences from the claims */
  adminNodeInventoryGet: {
    request: {
      params: node;
    };
    response: NodeInventory;
  };
  /** Remove a managed VM without a claim from its host. Refused for a VM that GPUaaS does not manage and for one with a claim; the agent checks both again. Disks are not wiped: slots whose devices the VM used stay quarantined until they are repaired. */
  adminNodeVmRemove: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** Name of the VM in the inventory report. */
        vm_name: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: NodeTask;
  };
  /** End a bundle lease without a claim, and remove its VM. For hosts that are ahead of a database restored from a backup. Refused while the allocation has a claim. The VM is stopped and removed. Disks are not wiped: the slots are quarantined until they are repaired, or until the cleanup of their current claim is proven. */
  adminNodeBundleLeaseEnd: {
    request: {
      params: {
        /** ID of the node. */
        node_id: string;
        /** ID of the allocation. */
        allocation_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: NodeTask;
  };
  /** List the cached images of a host */
  adminNodeImageList: {
    request: {
      params: node;
    };
    response: {
      /** ID of the node. */
      node_id: string;
      /** When the agent observed the cache; null before the first report. */
      observed_at: string | null;
      /** Why the cache could not be read. */
      unreadable: string | null;
      images: NodeImage[];
    };
  };
  /** Download an image of the catalog to a host before a launch needs it. If the host is configured to evict images, the least recently used ones are removed first. */
  adminNodeImagePull: {
    request: {
      params: node;
      body: {
        /** Image slug. */
        image_name: string;
        /** A version that is not retired (default: the newest). */
        digest?: string | undefined;
      };
    };
    response: NodeTask;
  };
  /** Remove an image from the cache of a host. Refused while a VM is being created from it. */
  adminNodeImageEvict: {
    request: {
      params: node;
      body: {
        /** Digest of the image. */
        digest: string;
      };
    };
    response: NodeTask;
  };
  /** Verify the digest of a cached image on a host; a changed image is removed */
  adminNodeImageVerify: {
    request: {
      params: node;
      body: {
        /** Digest of the image. */
        digest: string;
      };
    };
    response: NodeTask;
  };
  /** List the versions of the platform key and of the trust key. The keys themselves are settings of the processes. `available`: some process holds it. `active`: it seals. `retiring`: values that it sealed are being sealed again. `retired`: nothing is sealed with it; remove it from the settings. */
  adminPlatformKeyList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        kind?: 'platform' | 'trust' | undefined;
      } | undefined;
    };
    response: {
      items: {
        kind: 'platform' | 'trust';
        /** Its number in the configuration of the processes. */
        version: number;
        state: 'available' | 'active' | 'retiring' | 'retired';
        /** When this state began. */
        state_since: string;
        /** Values in the database that only this version opens. */
        sealed_values: number;
        /** Running processes that hold this version. */
        process_count: number;
        /** Running processes that hold a key of this kind, but not this version. */
        processes_without_key: number;
        /** When a process first reported it. */
        created_at: string;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Seal with the newest version from now on, and seal all earlier values again. Refused while a running process lacks that version, and while an earlier rotation is not complete. Requests continue meanwhile. */
  adminPlatformKeyRotate: {
    request: {
      body: {
        kind: 'platform' | 'trust';
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      kind: 'platform' | 'trust';
      /** Its number in the configuration of the processes. */
      version: number;
      state: 'available' | 'active' | 'retiring' | 'retired';
      /** When this state began. */
      state_since: string;
      /** Values in the database that only this version opens. */
      sealed_values: number;
      /** Running processes that hold this version. */
      process_count: number;
      /** Running processes that hold a key of this kind, but not this version. */
      processes_without_key: number;
      /** When a process first reported it. */
      created_at: string;
    };
  };
  /** List keys that sign node certificates, tasks and wipe certificates, newest first */
  adminTrustKeyList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        purpose?: 'node_ca' | 'task_signer' | 'certificate_signer' | undefined;
      } | undefined;
    };
    response: {
      items: {
        /** ID of the trust key. */
        id: string;
        purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
        state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
        /** When this state began. */
        state_since: string;
        /** Null until a process with the right key has created it. */
        fingerprint_sha256: string | null;
        /** When it stops being trusted. */
        retires_at: string | null;
        version: number;
        /** When it was created. */
        created_at: string;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Get a trust key */
  adminTrustKeyGet: {
    request: {
      params: {
        /** ID of the trust key. */
        trust_key_id: string;
      };
    };
    response: {
      /** ID of the trust key. */
      id: string;
      purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
      state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
      /** When this state began. */
      state_since: string;
      /** Null until a process with the right key has created it. */
      fingerprint_sha256: string | null;
      /** When it stops being trusted. */
      retires_at: string | null;
      version: number;
      /** When it was created. */
      created_at: string;
    };
  };
  /** Stage a new key, which agents trust before it signs. The key is `requested` until a process that holds the key for its purpose has created it, and then `staged`. */
  adminTrustKeyCreate: {
    request: {
      body: {
        purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the trust key. */
      id: string;
      purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
      state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
      /** When this state began. */
      state_since: string;
      /** Null until a process with the right key has created it. */
      fingerprint_sha256: string | null;
      /** When it stops being trusted. */
      retires_at: string | null;
      version: number;
      /** When it was created. */
      created_at: string;
    };
  };
  /** Activate a staged key; the previous key stays trusted during its grace period */
  adminTrustKeyActivate: {
    request: {
      params: {
        /** ID of the trust key. */
        trust_key_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the trust key. */
      id: string;
      purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
      state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
      /** When this state began. */
      state_since: string;
      /** Null until a process with the right key has created it. */
      fingerprint_sha256: string | null;
      /** When it stops being trusted. */
      retires_at: string | null;
      version: number;
      /** When it was created. */
      created_at: string;
      /** Nodes whose agents have not confirmed the key. They reconnect automatically until the grace period of the previous key ends. */
      nodes_without_key: number;
    };
  };
  /** Retire a key that is staged or in its grace period */
  adminTrustKeyRetire: {
    request: {
      params: {
        /** ID of the trust key. */
        trust_key_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the trust key. */
      id: string;
      purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
      state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
      /** When this state began. */
      state_since: string;
      /** Null until a process with the right key has created it. */
      fingerprint_sha256: string | null;
      /** When it stops being trusted. */
      retires_at: string | null;
      version: number;
      /** When it was created. */
      created_at: string;
    };
  };
  /** Revoke a key immediately; refused for the active key */
  adminTrustKeyRevoke: {
    request: {
      params: {
        /** ID of the trust key. */
        trust_key_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: {
      /** ID of the trust key. */
      id: string;
      purpose: 'node_ca' | 'task_signer' | 'certificate_signer';
      state: 'requested' | 'staged' | 'active' | 'grace' | 'retired' | 'revoked';
      /** When this state began. */
      state_since: string;
      /** Null until a process with the right key has created it. */
      fingerprint_sha256: string | null;
      /** When it stops being trusted. */
      retires_at: string | null;
      version: number;
      /** When it was created. */
      created_at: string;
    };
  };
  /** List log lines of all processes and agents by correlation ID or node, oldest first */
  adminLogList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        correlation_id?: string | undefined;
        /** ID of the node. */
        node_id?: string | undefined;
        /** This level and above. */
        level?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | undefined;
        /** Start time (default: one day ago). */
        since?: string | undefined;
      } | undefined;
    };
    response: {
      items: {
        /** When it was written. */
        logged_at: string;
        level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
        service: string;
        host_role: 'platform_control' | 'app_control' | 'worker_compute';
        host_name: string;
        node_id: string | null;
        message: string;
        correlation_id: string | null;
        error_code: string | null;
        fields: Record<string, unknown>;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Export the site as a file with all sections. Applied to this site it changes nothing. Retired resources and past prices are not part of it. */
  adminSiteExport: {
    request: Record<string, never>;
    response: SiteFile;
  };
  /** Compare a site file with the site and list what applying it would change. Reads only: takes no Idempotency-Key and leaves no audit row. errors[] names every row that is wrong. */
  adminSitePlan: {
    request: {
      body: {
        /** Desired state of a site. A section that is left out is not managed by the file. */
        site: SiteFile;
      };
    };
    response: SitePlan;
  };
  /** Apply a reviewed plan of a site file. All changes are made, or none. Refused with 409 if the site has changed since the plan with this hash; a file that changes nothing is accepted with any hash. */
  adminSiteApply: {
    request: {
      body: {
        /** Desired state of a site. A section that is left out is not managed by the file. */
        site: SiteFile;
        /** Identifies the file, the site that it was compared with, and the changes. */
        hash: string;
      };
    };
    response: SitePlan;
  };
  /** Get the policy of the site */
  adminSitePolicyGet: {
    request: Record<string, never>;
    response: SitePolicy;
  };
  /** Change who may sign up and the first GPU limit of organizations. Existing users and organizations keep what they have. */
  adminSitePolicyUpdate: {
    request: {
      body?: {
        /** Who may sign up. `closed`: no one. `invited`: people with a pending invitation to their verified email address, or in a mapped group. `approved`: everyone else waits until an operator approves. `open`: see `mail_domains`. */
        sign_up?: 'closed' | 'invited' | 'approved' | 'open' | undefined;
        /** With `open`: the domains whose verified email addresses may sign up. Empty for any address. */
        mail_domains?: string[] | undefined;
        /** GPU limit with which an organization starts; those that users create beyond their first start with 0. Null for no limit. */
        default_gpu_limit?: number | null | undefined;
        /** Contact shown to refused users: an address or a name. */
        contact?: string | null | undefined;
      } | undefined;
    };
    response: SitePolicy;
  };
  /** List people who asked to sign up */
  adminSignUpRequestList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'pending' | 'approved' | 'rejected' | undefined;
      } | undefined;
    };
    response: {
      items: SignUpRequest[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Approve a sign-up; the person gets a personal organization with the default GPU limit. A rejected request can be approved later. */
  adminSignUpRequestApprove: {
    request: {
      params: {
        /** ID of the sign up_request. */
        sign_up_request_id: string;
      };
      body?: {
        /** Reason, recorded in the audit row. */
        reason?: string | undefined;
      } | undefined;
    };
    response: SignUpRequest;
  };
  /** Reject a sign-up; the person sees the reason */
  adminSignUpRequestReject: {
    request: {
      params: {
        /** ID of the sign up_request. */
        sign_up_request_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: SignUpRequest;
  };
  /** List requests of tenants for larger GPU limits, newest first */
  adminQuotaRequestList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
        state?: 'open' | 'approved' | 'rejected' | 'withdrawn' | undefined;
        /** ID of the organization. */
        organization_id?: string | undefined;
      } | undefined;
    };
    response: {
      items: QuotaRequest[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Approve a request and set the limit. The limit is set in the same transaction. A limit other than the requested one needs a reason. */
  adminQuotaRequestApprove: {
    request: {
      params: {
        /** ID of the quota request. */
        quota_request_id: string;
      };
      body?: {
        /** Default: the requested limit. */
        gpu_limit?: number | undefined;
        /** Reason, recorded in the audit row. */
        reason?: string | undefined;
      } | undefined;
    };
    response: QuotaRequest;
  };
  /** Reject a request; the tenant sees the reason */
  adminQuotaRequestReject: {
    request: {
      params: {
        /** ID of the quota request. */
        quota_request_id: string;
      };
      body: {
        /** Reason, recorded in the audit row. */
        reason: string;
      };
    };
    response: QuotaRequest;
  };
  /** List group mappings */
  adminGroupMappingList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: GroupMapping[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Give members of a group of the issuer a role in an organization or project. Applies at the next sign-in of each member, and to everyone at `adminGroupSync`. Memberships that people gave stay as they are. A role in a project includes `member` in its organization. */
  adminGroupMappingCreate: {
    request: {
      body: {
        /** Group as the issuer writes it in the groups claim, e.g. `research`. */
        group: string;
        /** ID of the organization. */
        organization_id: string;
        /** Omit it for a role in the organization. */
        project_id?: string | undefined;
        /** A group never makes an owner. */
        role: 'admin' | 'member' | 'viewer';
      };
    };
    response: GroupMapping;
  };
  /** Delete a group mapping. Members lose the role at their next sign-in, or all at once at `adminGroupSync`. */
  adminGroupMappingDelete: {
    request: {
      params: {
        /** ID of the group mapping. */
        group_mapping_id: string;
      };
    };
    response: undefined;
  };
  /** Compare the stored groups of all users with the mappings, and change memberships accordingly. It does not contact the issuer: the groups of a user are those of the last sign-in. A group that a user has lost since is known at the next sign-in; to end access before that, apply an export of the issuer (`adminGroupSyncApply`). */
  adminGroupSync: {
    request: Record<string, never>;
    response: {
      /** Active users with a mapped group or a membership by group. */
      users_checked: number;
      memberships_granted: number;
      /** Memberships whose role changed. */
      memberships_changed: number;
      memberships_removed: number;
    };
  };
  /** Compare an export of the issuer with the memberships and list what applying it would change. Reads only: takes no Idempotency-Key and leaves no audit row. */
  adminGroupSyncPlan: {
    request: {
      body: {
        /** All members of the mapped groups, complete. */
        members: GroupMembers;
      };
    };
    response: GroupSyncPlan;
  };
  /** Make memberships follow an export of the issuer, as planned and reviewed. The groups of every user become those of the export: users missing from the export lose the memberships that groups gave them. Refused with 409 if the plan has changed, or has warnings that are not accepted. */
  adminGroupSyncApply: {
    request: {
      body: {
        /** All members of the mapped groups, complete. */
        members: GroupMembers;
        /** Identifies the export and the changes that it leads to. */
        hash: string;
        /** Apply it although the plan has warnings. */
        accept_warnings?: boolean | undefined;
      };
    };
    response: GroupSyncPlan;
  };
  /** Check the whole site now, with a remedy for each problem. The checks run at once, each with its own time limit: a dependency that does not respond is `unknown`, and the others are still checked. The process contacts only addresses of its own configuration. Of a client, `gpuaas doctor` checks connection and sign-in. */
  adminDoctorGet: {
    request: Record<string, never>;
    response: {
      /** The worst state: `unknown` counts as a warning. */
      state: 'ok' | 'warning' | 'failed';
      /** When the checks began. */
      checked_at: string;
      /** How long all of them took together. */
      duration_ms: number;
      server_version: string;
      checks: {
        /** The name of the check, which does not change. */
        key: string;
        label: string;
        state: 'ok' | 'warning' | 'failed' | 'unknown' | 'not_configured';
        /** What was found, as a sentence. */
        detail: string;
        /** What to do; null where nothing is to be done. */
        cure: string | null;
        /** The runbook, below `doc/operations/runbooks`. */
        runbook_url: string | null;
      }[];
    };
  };
  /** Get the steps from an empty database to the first launch. Every step is read from the data of the site, so a step done in any way is done, and setting up may stop and continue at any time. */
  adminSetupGet: {
    request: Record<string, never>;
    response: {
      /** Every step that is not optional is done. */
      is_complete: boolean;
      next: 'sign_in' | 'superadmin' | 'trust_keys' | 'backups' | 'catalog' | 'sign_up' | 'node_created' | 'node_enrolled' | 'node_discovered' | 'node_approved' | 'first_launch' | null;
      /** When the data was read. */
      read_at: string;
      /** An enrollment token is created only for a host that an operator named: a node is added with `host`, such as its serial number. */
      requires_named_host: boolean;
      /** The newest node that is not retired: that of the steps of a node. */
      node_id: string | null;
      steps: {
        key: 'sign_in' | 'superadmin' | 'trust_keys' | 'backups' | 'catalog' | 'sign_up' | 'node_created' | 'node_enrolled' | 'node_discovered' | 'node_approved' | 'first_launch';
        label: string;
        state: 'done' | 'next' | 'blocked' | 'optional';
        /** What is there, or what is missing, as a sentence. */
        detail: string;
        /** The command of the step; null where it is done. */
        command: string | null;
      }[];
    };
  };
  /** List recorded backups of the database, newest data first */
  adminBackupList: {
    request: {
      query?: {
        /** Rows per page. Default: 50. */
        limit?: number | undefined;
        /** next_cursor of the previous page. */
        cursor?: string | undefined;
      } | undefined;
    };
    response: {
      items: {
        /** ID of the backup. */
        id: string;
        /** The time of the data: when the backup began. */
        taken_at: string;
        /** Where it is stored. */
        location: string;
        size_bytes: number | null;
        /** When it was recorded. */
        recorded_at: string;
        /** ID of the user who recorded it. */
        recorded_by: string;
      }[];
      /** Cursor of the next page; null on the last page. */
      next_cursor: string | null;
    };
  };
  /** Record that a backup of the database was made. Called by the backup job after the backup is complete and readable. Nothing is copied: this is the record that the site check compares with the time. A backup of the same time and location is recorded once. */
  adminBackupRecord: {
    request: {
      body: {
        /** The time of the data: when the backup began. Not in the future. */
        taken_at: string;
        /** Where it is stored, without credentials. */
        location: string;
        size_bytes?: number | undefined;
      };
    };
    response: {
      /** ID of the backup. */
      id: string;
      /** The time of the data: when the backup began. */
      taken_at: string;
      /** Where it is stored. */
      location: string;
      size_bytes: number | null;
      /** When it was recorded. */
      recorded_at: string;
      /** ID of the user who recorded it. */
      recorded_by: string;
    };
  };
};
