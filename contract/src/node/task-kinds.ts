/**
 * The closed list of host tasks. There is no "run command". A task kind is declared here once: its label, the shape of
 * its params and output, its limits, its effect on the host and the host ports it needs. Everything else about a kind
 * is derived from its declaration, or is a registry with one entry for each kind that does not compile without it.
 */
import Type, { type Static } from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { Id } from '../ids.ts';
import { SESSION_KINDS, TerminalSize } from '../stream.ts';
import { TopologyMap } from './candidate.ts';
import { HostFacts, PciAddress } from './facts.ts';
import { HealthReport } from './health.ts';
import {
  BundlePlan,
  Count,
  HUGEPAGES,
  Install,
  NUMA_POLICIES,
  PassesFabric,
  ReadinessChecks,
  SlotGeneration,
  SshKeys,
  Storage,
  slots,
  TaskBootKind,
  TaskDisk,
  TaskImage,
  TaskSlot,
  Username,
  VmNetwork,
  wipe_minimum,
} from './task-shapes.ts';
import { CLEANUP_LIMIT_S } from './wipe.ts';
import { CleanupOutput } from './wipe-evidence.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Parts of a host that a task may need. An agent offers the kinds whose ports its host has. */
export const HOST_PORTS = [
  'pci',
  'disks',
  'images',
  'hypervisor',
  'network',
  'fabric',
  'gpu',
  'system',
  'access',
] as const;
export type HostPort = (typeof HOST_PORTS)[number];

/** `read` leaves the host as it is, `change` can be undone, `destroy` erases data. */
export type TaskEffect = 'read' | 'change' | 'destroy';

type Declaration = Readonly<{
  /** The label: what the host does, in the imperative. It names no host, device or address. */
  label: string;
  params: Type.TObject;
  output: Type.TObject;
  /** What a failed task may return (default the shape of `output`); another output is not stored. */
  failed_output: Type.TObject;
  effect: TaskEffect;
  needs: readonly HostPort[];
  /** How long the agent works on it before it ends the task as failed. */
  timeout_s: number;
  /** How long the server waits for its end. */
  expires_s: number;
  /**
   * Then `expires_s` counts only to the start: the server waits for a started task until the agent itself would have
   * ended it, because an earlier end would discard its work.
   */
  is_waited_out: boolean;
}>;

/** The default: a task that no host finishes within this time has failed, because its host is offline. */
export const TASK_EXPIRES_S = 20 * MINUTE;

type Given<P extends Type.TObject, O extends Type.TObject> = Omit<
  Declaration,
  'params' | 'output' | 'failed_output' | 'expires_s' | 'is_waited_out'
> &
  Readonly<{ params: P; output: O; failed_output?: Type.TObject; expires_s?: number; is_waited_out?: boolean }>;

/** One task kind. */
export const defineTask = <P extends Type.TObject, O extends Type.TObject>(given: Given<P, O>) =>
  ({ expires_s: TASK_EXPIRES_S, is_waited_out: false, failed_output: given.output, ...given }) satisfies Declaration;

const allocation = { allocation_id: Id('allocation') };
/** A host either supports every kind of slice task or none of them. */
const SLICE = ['pci', 'disks', 'images', 'hypervisor', 'network', 'fabric', 'gpu', 'system'] as const;
const WHOLE_NODE = ['pci', 'disks', 'network', 'fabric', 'gpu', 'system'] as const;

export const TASKS = {
  'diag.health_probe': defineTask({
    label: 'Probe health',
    params: Closed({}),
    output: Closed({ report: HealthReport }),
    effect: 'read',
    needs: ['pci', 'gpu', 'disks', 'system'],
    timeout_s: 2 * MINUTE,
    expires_s: 2 * MINUTE,
  }),
  'slice.topology_discover': defineTask({
    label: 'Discover hardware',
    params: Closed({
      /** Accelerators and their network cards are known by vendor:device; empty means the agent's own list. */
      accelerators: Type.Array(Type.String({ pattern: '^[0-9a-f]{4}:[0-9a-f]{4}$' })),
      private_network: Type.String({ description: 'Network of suggested addresses, e.g. 10.100.0.0/24.' }),
    }),
    output: Closed({ facts: HostFacts, map: TopologyMap, map_hash: Type.String() }),
    effect: 'read',
    needs: ['pci', 'disks', 'network', 'fabric', 'gpu', 'system'],
    timeout_s: 5 * MINUTE,
    expires_s: 10 * MINUTE,
  }),
  'slice.bundle_lease': defineTask({
    label: 'Reserve GPUs',
    params: Closed({
      ...allocation,
      slots,
      vcpu_count: Count,
      memory_mib: Count,
      profile: Type.String(),
      // Left out where they are the defaults, `auto` and `strict`: agents of earlier releases take no other.
      hugepages: Type.Optional(StringEnum(HUGEPAGES)),
      numa_policy: Type.Optional(StringEnum(NUMA_POLICIES)),
    }),
    output: Closed({ plan: BundlePlan }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 2 * MINUTE,
  }),
  'image.pull': defineTask({
    label: 'Download image',
    params: Closed({ image: TaskImage }),
    output: Closed({ digest: Type.String(), size_bytes: Count }),
    effect: 'change',
    needs: ['images'],
    timeout_s: 2 * HOUR,
    expires_s: 2 * HOUR,
  }),
  'image.evict': defineTask({
    label: 'Remove image',
    params: Closed({ digest: Type.String() }),
    output: Closed({ freed_bytes: Count }),
    effect: 'change',
    needs: ['images'],
    timeout_s: 10 * MINUTE,
  }),
  /** Every byte is hashed again; an image with another digest is removed. */
  'image.verify': defineTask({
    label: 'Verify image',
    params: Closed({ digest: Type.String() }),
    output: Closed({ is_intact: Type.Boolean(), size_bytes: Count }),
    effect: 'change',
    needs: ['images'],
    timeout_s: HOUR,
    expires_s: 2 * HOUR,
  }),
  /**
   * A reinstallation that fails returns in its output, as `is_disk_written`, whether the old system is gone, and as
   * `is_user_data_refused`, whether the tenant has to correct the user data.
   */
  'slice.image_clone': defineTask({
    label: 'Copy image',
    params: Closed({
      ...allocation,
      slots,
      image: TaskImage,
      boot_kind: TaskBootKind,
      install: Install,
      /** For the next start: refused while the old system is still there. */
      user_data: Type.Optional(Nullable(Type.String())),
    }),
    output: Closed({ bytes_written: Count, digest: Nullable(Type.String()) }),
    failed_output: Closed({
      is_disk_written: Type.Optional(Type.Boolean()),
      is_user_data_refused: Type.Optional(Type.Boolean()),
    }),
    effect: 'destroy',
    needs: SLICE,
    timeout_s: 2 * HOUR,
  }),
  'slice.vm_start': defineTask({
    label: 'Start VM',
    params: Closed({
      ...allocation,
      slots,
      hostname: Type.String(),
      ssh_public_keys: SshKeys,
      user_data: Nullable(Type.String()),
      boot_kind: TaskBootKind,
      install: Install,
      readiness_checks: Type.Optional(ReadinessChecks),
      storage: Storage,
      network: VmNetwork,
      passes_fabric: PassesFabric,
    }),
    output: Closed({ domain: Type.String() }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 15 * MINUTE,
  }),
  'slice.vm_readiness': defineTask({
    label: 'Wait for SSH',
    params: Closed({ ...allocation, slots, readiness_checks: Type.Optional(ReadinessChecks), storage: Storage }),
    output: Closed({
      mac: Type.String(),
      expected_ip: Type.String(),
      actual_ip: Nullable(Type.String()),
      lease_state: StringEnum(['none', 'bound', 'conflict']),
      ssh_host_key: Nullable(Type.String()),
      gpu_count: Nullable(Count),
    }),
    effect: 'read',
    needs: SLICE,
    timeout_s: 30 * MINUTE,
  }),
  'slice.vm_reboot': defineTask({
    label: 'Reboot VM',
    params: Closed({ ...allocation, slots, is_hard: Type.Boolean() }),
    output: Closed({ how: Type.Optional(StringEnum(['graceful', 'hard'])) }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 10 * MINUTE,
  }),
  'slice.vm_stop': defineTask({
    label: 'Stop VM',
    params: Closed({
      ...allocation,
      slots,
      grace_s: Count,
      /** The VM stays the tenant's and is started again later; until then it needs no fabric partition. */
      will_start_again: Type.Optional(Type.Boolean()),
    }),
    output: Closed({ how: StringEnum(['absent', 'graceful', 'hard']) }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 30 * MINUTE,
  }),
  'slice.cleanup': defineTask({
    label: 'Wipe disks',
    params: Closed({ ...allocation, slots, wipe_minimum }),
    output: CleanupOutput,
    effect: 'destroy',
    needs: SLICE,
    timeout_s: CLEANUP_LIMIT_S,
    is_waited_out: true,
  }),
  'slice.reconcile': defineTask({
    label: 'Rebind devices',
    /** Slots whose devices may be rebound: no claim holds them. */
    params: Closed({ rebind: Type.Array(TaskSlot) }),
    output: Closed({
      domains: Type.Array(
        Closed({
          name: Type.String(),
          allocation_id: Nullable(Type.String()),
          is_managed: Type.Boolean(),
          state: Type.String(),
        }),
      ),
      findings: Type.Array(Closed({ slot_id: Nullable(Type.String()), message: Type.String() })),
      rebound: Type.Array(PciAddress),
    }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 15 * MINUTE,
  }),
  /** A VM with our tag that no claim holds: stopped, detached from the network and removed. Its disks are not touched. */
  'slice.orphan_remove': defineTask({
    label: 'Remove orphan VM',
    params: Closed({
      ...allocation,
      /** Where the host has a bundle lease of it: cleanup of the lease starts, and it ends when its slots are wiped. */
      end_lease: Type.Optional(Type.Boolean()),
    }),
    output: Closed({ removed: Type.Array(Type.String()) }),
    effect: 'change',
    needs: SLICE,
    timeout_s: 15 * MINUTE,
  }),
  'node.cleanup': defineTask({
    label: 'Wipe disks',
    params: Closed({
      allocation_id: Nullable(Id('allocation')),
      disks: Type.Array(TaskDisk),
      slots: Type.Array(TaskSlot),
      wipe_minimum,
    }),
    output: CleanupOutput,
    effect: 'destroy',
    needs: WHOLE_NODE,
    timeout_s: CLEANUP_LIMIT_S,
    is_waited_out: true,
  }),
  'allocation.provision_user': defineTask({
    label: 'Set up access',
    params: Closed({
      ...allocation,
      username: Username,
      ssh_public_keys: SshKeys,
      /** Named so that the host knows their owner from now on. */
      disks: Type.Array(TaskDisk),
      slot_generations: Type.Array(SlotGeneration),
    }),
    output: Closed({ username: Username, ssh_host_key: Nullable(Type.String()) }),
    effect: 'change',
    needs: ['system'],
    timeout_s: 5 * MINUTE,
  }),
  /** The full set of a tenant's keys: of its account on a whole node, or where the name is null in the guest OS of its slice. */
  'allocation.install_authorized_keys': defineTask({
    label: 'Install SSH keys',
    params: Closed({ ...allocation, username: Nullable(Username), ssh_public_keys: SshKeys }),
    output: Closed({ key_count: Count }),
    effect: 'change',
    needs: ['system', 'access'],
    timeout_s: 5 * MINUTE,
  }),
  'allocation.deprovision_user': defineTask({
    label: 'Remove access',
    params: Closed({ ...allocation, username: Username }),
    output: Closed({ sessions_ended: Count, was_present: Type.Boolean() }),
    effect: 'change',
    needs: ['system'],
    timeout_s: 10 * MINUTE,
  }),
  /**
   * One session of a tenant with its VM, or with the node that it holds. Completed means only that the agent has connected
   * to the gateway; the stream itself reports whether the other end is reached. The agent resolves the target from its
   * bundle leases: no address is in here.
   */
  'stream.open': defineTask({
    label: 'Open session',
    params: Closed({
      ...allocation,
      session_id: Id('terminal_session'),
      kind: StringEnum(SESSION_KINDS),
      /** The replica that has the client. */
      gateway_url: Type.String({ pattern: '^wss://[A-Za-z0-9.:\\[\\]-]{1,260}$', maxLength: 300 }),
      /** The account on a whole node. Null for the VM of a slice. */
      username: Nullable(Username),
      port: Nullable(Type.Integer({ minimum: 1, maximum: 65_535 })),
      ...TerminalSize,
      is_writable: Type.Boolean(),
      session_expires_at: Time('When the host ends the session at the latest.'),
    }),
    output: Closed({ session_id: Id('terminal_session') }),
    effect: 'change',
    needs: ['access'],
    timeout_s: 30,
    expires_s: 30,
  }),
  'agent.update': defineTask({
    label: 'Update agent',
    params: Closed({ version: Type.String(), digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) }),
    output: Closed({ version: Type.String() }),
    effect: 'change',
    needs: [],
    timeout_s: 15 * MINUTE,
    expires_s: 30 * MINUTE,
  }),
} as const;

export type TaskKind = keyof typeof TASKS;
export const TASK_KINDS = Object.keys(TASKS) as readonly TaskKind[];
export type TaskParams<K extends TaskKind> = Static<(typeof TASKS)[K]['params']>;
export type TaskOutput<K extends TaskKind> = Static<(typeof TASKS)[K]['output']>;

export const isTaskKind = (kind: string): kind is TaskKind => Object.hasOwn(TASKS, kind);
/** The label. A kind of a newer or older version has none here and is shown by its name. */
export const taskLabel = (kind: string): string => (isTaskKind(kind) ? TASKS[kind].label : kind);

/** Kinds that a host supports: it has every port they need. A read-only host supports kinds that change nothing. */
export const kindsOf = (ports: ReadonlySet<HostPort>, isReadOnly = false): TaskKind[] =>
  TASK_KINDS.filter(
    (kind) => TASKS[kind].needs.every((port) => ports.has(port)) && (!isReadOnly || TASKS[kind].effect === 'read'),
  );
