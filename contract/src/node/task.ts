/**
 * The closed list of what an agent can be asked to do, with the shape of each question and answer. There is no "run
 * command". A task travels as the exact text that was signed, so nobody has to agree on how JSON is written.
 */
import Type, { type Static } from 'typebox';
import { Closed, HostTime, INT_MAX, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';
import { SESSION_KINDS, TerminalSize } from '../stream.ts';
import { TopologyMap, WIPE_METHODS } from './candidate.ts';
import { HostFacts, PciAddress } from './facts.ts';
import { HealthReport } from './health.ts';
import { PROOF_STEPS_MAX } from './task-tree.ts';
import { IsolationEvidence, WipeLevelShape } from './wipe.ts';

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** One slot as approved: what the host must find, or refuse. */
export const TaskSlot = Closed({
  slot_id: Id('slot'),
  slot_index: Count,
  generation: Count,
  module_id: Nullable(Type.Integer()),
  gpu_pci_address: PciAddress,
  nvme_serial: Type.String(),
  nvme_device: Type.String(),
  mac_address: Type.String(),
  private_ip: Type.String(),
  fabric_vf_pci_address: PciAddress,
  wipe_method: Nullable(StringEnum(WIPE_METHODS)),
});
export const TaskDisk = Closed({ serial: Type.String(), device: Type.String() });

const empty = Closed({});
const slots = Type.Array(TaskSlot, { minItems: 1, maxItems: 64 });
const Image = Closed({ name: Type.String(), digest: Nullable(Type.String()) });
/** Above 0 the tenant's own boot disk is written over, and the guest is told that it is another machine. */
const Install = Type.Optional(
  Type.Integer({ minimum: 0, maximum: INT_MAX, description: 'How often the allocation was reinstalled.' }),
);

/** The concrete bundle: what the machine will be made of. */
export const BundlePlan = Closed({
  boot_slot_id: Id('slot'),
  slots: Type.Array(
    Closed({
      slot_id: Id('slot'),
      generation: Count,
      gpu_pci_address: PciAddress,
      fabric_vf_pci_address: PciAddress,
      nvme_device: Type.String(),
      nvme_serial: Type.String(),
      nvme_major_minor: Nullable(Type.String()),
    }),
  ),
  mac_address: Type.String(),
  private_ip: Type.String(),
  ovs_port: Type.String(),
  numa_nodes: Type.Array(Type.Integer()),
  cpuset: Type.String(),
  vcpu_count: Count,
  memory_mib: Count,
  hugepages: Nullable(Closed({ size_kib: Count, count: Count })),
  fabric_partition_id: Nullable(Type.Integer()),
  profile: Type.String(),
});

export const DiskEvidence = Closed({
  slot_id: Nullable(Type.String()),
  serial: Type.String(),
  major_minor: Type.Optional(Type.String()),
  size_bytes: Type.Optional(Count),
  generation: Nullable(Count),
  attempt: Type.Optional(Count),
  method: Type.String(),
  level: Type.Optional(WipeLevelShape),
  /** What the method did on this drive: it threw its key away, erased its blocks, or was asked to forget them. */
  erase: Type.Optional(StringEnum(['crypto', 'block', 'discard'])),
  command_status: Type.Integer(),
  /** How erased was told from kept: blank, or after a cryptographic erase noise that was not there before. */
  rule: Type.Optional(StringEnum(['blank', 'changed'])),
  blocks_changed: Type.Optional(Count),
  bytes_read_back: Count,
  bytes_not_erased: Count,
  samples: Type.Array(Closed({ offset: Count, length: Count, sha256: Type.String() })),
  signatures_left: Type.Array(Type.String()),
  is_verified: Type.Boolean(),
  started_at: HostTime('When the wipe began.'),
  finished_at: HostTime('When the read-back ended.'),
});
const CleanupOutput = Closed({
  network_detached: Type.Boolean(),
  disks: Type.Array(DiskEvidence),
  /** Why a disk could not be wiped; the disk then has no evidence. */
  blocked: Type.Array(Closed({ serial: Type.String(), reason: Type.String() })),
  gpu_resets: Type.Array(
    Closed({
      gpu_pci_address: PciAddress,
      method: Type.String(),
      scope: Type.Array(PciAddress),
      is_ok: Type.Boolean(),
      reason: Type.Optional(Type.String({ description: 'Why it is not ok.' })),
    }),
  ),
  removed: Type.Array(Type.String({ description: 'What else was taken away: seed, lease, port, partition.' })),
  isolation: Type.Optional(IsolationEvidence),
});
const SshKeys = Type.Array(Type.String({ maxLength: 16_384 }), { maxItems: 100 });
/** What the image promises of a guest: its own program answers for each, and all must hold. */
const ReadinessChecks = Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), { maxItems: 32 });
/** The weakest erasure that the region allows; `clear` unless told. A host may ask for more by itself. */
const wipe_minimum = Type.Optional(WipeLevelShape);
const Username = Type.String({ pattern: '^[a-z][a-z0-9-]{0,30}$' });

const allocation = { allocation_id: Id('allocation') };
const task = <P extends Type.TObject, O extends Type.TObject>(params: P, output: O) => ({ params, output });

export const TASKS = {
  'diag.health_probe': task(empty, Closed({ report: HealthReport })),
  'slice.topology_discover': task(
    Closed({
      /** Accelerators and their network cards are known by vendor:device; empty means the agent's own list. */
      accelerators: Type.Array(Type.String({ pattern: '^[0-9a-f]{4}:[0-9a-f]{4}$' })),
      private_network: Type.String({ description: 'Where suggested addresses come from, e.g. 10.100.0.0/24.' }),
    }),
    Closed({ facts: HostFacts, map: TopologyMap, map_hash: Type.String() }),
  ),
  'slice.bundle_lease': task(
    Closed({ ...allocation, slots, vcpu_count: Count, memory_mib: Count, profile: Type.String() }),
    Closed({ plan: BundlePlan }),
  ),
  'image.pull': task(Closed({ image: Image }), Closed({ digest: Type.String(), size_bytes: Count })),
  'image.evict': task(Closed({ digest: Type.String() }), Closed({ freed_bytes: Count })),
  /** Every byte is hashed again; what is not what it was is removed. */
  'image.verify': task(Closed({ digest: Type.String() }), Closed({ is_intact: Type.Boolean(), size_bytes: Count })),
  /**
   * One that puts an image over an old system and fails says in its output, as `is_disk_written`, whether that is gone, and as
   * `is_user_data_refused` why, where that is the tenant's to mend.
   */
  'slice.image_clone': task(
    Closed({
      ...allocation,
      slots,
      image: Image,
      install: Install,
      /** What the next start will carry: refused while the old system is still there. */
      user_data: Type.Optional(Nullable(Type.String())),
    }),
    Closed({ bytes_written: Count, digest: Nullable(Type.String()) }),
  ),
  'slice.vm_start': task(
    Closed({
      ...allocation,
      slots,
      hostname: Type.String(),
      ssh_public_keys: SshKeys,
      user_data: Nullable(Type.String()),
      install: Install,
      readiness_checks: Type.Optional(ReadinessChecks),
    }),
    Closed({ domain: Type.String() }),
  ),
  'slice.vm_readiness': task(
    Closed({ ...allocation, slots, readiness_checks: Type.Optional(ReadinessChecks) }),
    Closed({
      mac: Type.String(),
      expected_ip: Type.String(),
      actual_ip: Nullable(Type.String()),
      lease_state: StringEnum(['none', 'bound', 'conflict']),
      ssh_host_key: Nullable(Type.String()),
      gpu_count: Nullable(Count),
    }),
  ),
  'slice.vm_reboot': task(
    Closed({ ...allocation, slots, is_hard: Type.Boolean() }),
    Closed({ how: Type.Optional(StringEnum(['graceful', 'hard'])) }),
  ),
  'slice.vm_stop': task(
    Closed({
      ...allocation,
      slots,
      grace_s: Count,
      /** It stays the tenant's and is started again later; until then it needs no part of the fabric. */
      will_start_again: Type.Optional(Type.Boolean()),
    }),
    Closed({ how: StringEnum(['absent', 'graceful', 'hard']) }),
  ),
  'slice.cleanup': task(Closed({ ...allocation, slots, wipe_minimum }), CleanupOutput),
  'slice.reconcile': task(
    /** Slots whose devices may be bound anew: nobody holds them. */
    Closed({ rebind: Type.Array(TaskSlot) }),
    Closed({
      domains: Type.Array(
        Closed({
          name: Type.String(),
          allocation_id: Nullable(Type.String()),
          is_managed: Type.Boolean(),
          state: Type.String(),
        }),
      ),
      drift: Type.Array(Closed({ slot_id: Nullable(Type.String()), message: Type.String() })),
      rebound: Type.Array(PciAddress),
    }),
  ),
  /** A machine with our tag that no claim holds: stopped, taken off the network and removed. Its drives are not touched. */
  'slice.orphan_remove': task(
    Closed({
      ...allocation,
      /** Where the host has a lease of it: the lease is being cleaned from then on, and ends when its slots are erased. */
      end_lease: Type.Optional(Type.Boolean()),
    }),
    Closed({ removed: Type.Array(Type.String()) }),
  ),
  'node.cleanup': task(
    Closed({
      allocation_id: Nullable(Id('allocation')),
      disks: Type.Array(TaskDisk),
      slots: Type.Array(TaskSlot),
      wipe_minimum,
    }),
    CleanupOutput,
  ),
  'allocation.provision_user': task(
    Closed({ ...allocation, username: Username, ssh_public_keys: SshKeys }),
    Closed({ username: Username, ssh_host_key: Nullable(Type.String()) }),
  ),
  /** The full set of a tenant's keys: of its account on a whole node, or where the name is null in the guest of its slice. */
  'allocation.install_authorized_keys': task(
    Closed({ ...allocation, username: Nullable(Username), ssh_public_keys: SshKeys }),
    Closed({ key_count: Count }),
  ),
  'allocation.deprovision_user': task(
    Closed({ ...allocation, username: Username }),
    Closed({ sessions_ended: Count, was_present: Type.Boolean() }),
  ),
  /**
   * One session of a tenant with its guest, or with the node that is its own. Says only that the host has connected to the
   * gateway; whether the other end is there is told on the stream. What is reached is what the host holds for the allocation:
   * no address is in here.
   */
  'stream.open': task(
    Closed({
      ...allocation,
      session_id: Id('terminal_session'),
      kind: StringEnum(SESSION_KINDS),
      /** The replica that has the client. */
      gateway_url: Type.String({ pattern: '^wss://[A-Za-z0-9.:\\[\\]-]{1,260}$', maxLength: 300 }),
      /** Of a whole node: whose account. Null for the machine of a slice. */
      username: Nullable(Username),
      port: Nullable(Type.Integer({ minimum: 1, maximum: 65_535 })),
      ...TerminalSize,
      is_writable: Type.Boolean(),
      session_expires_at: Time('When the host ends it, whatever the gateway does.'),
    }),
    Closed({ session_id: Id('terminal_session') }),
  ),
  'agent.update': task(
    Closed({ version: Type.String(), digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) }),
    Closed({ version: Type.String() }),
  ),
} as const;

export type TaskKind = keyof typeof TASKS;
export const TASK_KINDS = Object.keys(TASKS) as readonly TaskKind[];
export type TaskParams<K extends TaskKind> = Static<(typeof TASKS)[K]['params']>;
export type TaskOutput<K extends TaskKind> = Static<(typeof TASKS)[K]['output']>;

/** What is signed. A task is bound to node and attempt; its slots carry their generations. */
export const TaskPayload = Closed({
  task_id: Id('node_task'),
  node_id: Id('node'),
  kind: StringEnum(TASK_KINDS),
  attempt: Type.Integer({ minimum: 1 }),
  params: Type.Object({}, { additionalProperties: true }),
  allocation_id: Nullable(Type.String()),
  correlation_id: Type.String(),
  issued_at: Time('When it was signed; far from the host’s clock it is refused.'),
  expires_at: Time('After it the task is not begun.'),
});

export const SignedTask = Closed({
  payload: Type.String({ description: 'The exact text that the signature covers: a TaskPayload as JSON.' }),
  signer_id: Type.String(),
  proof: Type.Array(Type.String({ pattern: '^(left|right):[A-Za-z0-9_-]{43}$' }), {
    maxItems: PROOF_STEPS_MAX,
    description:
      'The way from this payload to the root that was signed, for tasks that were signed together: each neighbour’s ' +
      'side and hash, SHA-256 in base64url, as in RFC 6962 (a leaf behind 0x00, a pair behind 0x01). Empty for one alone.',
  }),
  signature: Type.String({
    description: 'Ed25519 over the line "gpuaas task tree v1" and the 32 bytes of the root, base64.',
  }),
});

/** Why an agent did not do a task, in stable words. */
export const TASK_ERRORS = [
  'bad_signature',
  'unknown_signer',
  'wrong_node',
  'expired',
  'clock_skew',
  'stale_generation',
  'unknown_kind',
  'bad_params',
  'conflict',
  'drift',
  'blocked',
  'no_space',
  'unsupported',
  'timeout',
  'host_error',
] as const;

export const TaskResult = Closed({
  attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }),
  state: StringEnum(['completed', 'failed']),
  error_code: Nullable(StringEnum(TASK_ERRORS)),
  reason: Nullable(Type.String({ maxLength: 2000 })),
  output: Nullable(Type.Object({}, { additionalProperties: true })),
  started_at: Nullable(HostTime('When the host began.')),
  finished_at: HostTime('When it ended.'),
});

export const TaskProgress = Closed({
  attempt: Type.Integer({ minimum: 1, maximum: INT_MAX }),
  percent: Type.Integer({ minimum: 0, maximum: 100 }),
  bytes_per_s: Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  note: Nullable(Type.String({ maxLength: 200 })),
});
