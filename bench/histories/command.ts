/**
 * What a history consists of. Generation is pure: a seed gives the same commands everywhere. A command names its target
 * by a number that is taken modulo what exists when it is played, so every part of a list of commands can be played as
 * well; that makes a failing history easy to shrink.
 */
import { invariant } from '@gpuaas/kit';

/** What a fault is about; roles that share a process are killed together. */
export const PROCESS_ROLES = ['api', 'node_api', 'relay', 'gateway', 'worker'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/**
 * `joined`: a process of the worker, and one of the other roles. `split`: a process for each role. `spawned`: as `split`,
 * and each is a process of the operating system, killed by SIGKILL.
 */
export const LAYOUTS = ['joined', 'split', 'spawned'] as const;
export type Layout = (typeof LAYOUTS)[number];

export type HostFault = 'fail' | 'crash' | 'crash_after' | 'hang';

export type Command =
  | Readonly<{ do: 'launch'; who: number; gpus: number; key: boolean; project: number }>
  | Readonly<{ do: 'launch_again'; who: number; pick: number }>
  | Readonly<{ do: 'release'; who: number; pick: number }>
  | Readonly<{ do: 'power'; who: number; pick: number; to: 'stop' | 'start' | 'reboot' | 'reinstall' }>
  | Readonly<{ do: 'protect'; who: number; pick: number; on: boolean }>
  | Readonly<{ do: 'grant'; who: number; pick: number }>
  | Readonly<{ do: 'revoke'; who: number; pick: number }>
  | Readonly<{ do: 'look'; who: number; pick: number }>
  | Readonly<{ do: 'trespass'; who: number; pick: number }>
  | Readonly<{ do: 'events'; who: number }>
  | Readonly<{ do: 'write_disk'; who: number; pick: number }>
  | Readonly<{ do: 'project_create'; who: number }>
  | Readonly<{ do: 'project_delete'; who: number; pick: number }>
  | Readonly<{ do: 'quota'; who: number; limit: number | null }>
  | Readonly<{ do: 'drain'; node: number; on: boolean }>
  | Readonly<{ do: 'hold'; node: number; on: boolean }>
  | Readonly<{ do: 'convert'; node: number; to: 'slice' | 'baremetal' }>
  | Readonly<{ do: 'slot'; node: number; slot: number; to: 'disable' | 'enable' | 'quarantine' | 'repair' }>
  | Readonly<{ do: 'approve'; node: number }>
  | Readonly<{ do: 'retire'; node: number }>
  | Readonly<{ do: 'node_delete'; node: number }>
  | Readonly<{ do: 'clear_failures'; node: number }>
  | Readonly<{ do: 'force_release'; pick: number }>
  | Readonly<{ do: 'force_cleanup'; pick: number; absent: boolean }>
  | Readonly<{ do: 'run_retry'; pick: number }>
  | Readonly<{ do: 'run_cancel'; pick: number }>
  | Readonly<{ do: 'rotate'; purpose: 'node_ca' | 'task_signer' | 'certificate_signer' }>
  | Readonly<{ do: 'kill'; process: ProcessRole }>
  | Readonly<{ do: 'cut_database'; process: ProcessRole }>
  | Readonly<{ do: 'silence_database'; process: ProcessRole; ms: number }>
  | Readonly<{ do: 'restart_database'; ms: number }>
  | Readonly<{ do: 'jump_database_clock'; hours: number }>
  | Readonly<{ do: 'lose_commit'; process: ProcessRole }>
  | Readonly<{ do: 'cut_agent'; node: number }>
  | Readonly<{ do: 'kill_agent'; node: number }>
  | Readonly<{ do: 'silence'; node: number; on: boolean }>
  | Readonly<{ do: 'host_fault'; node: number; kind: string; effect: HostFault }>
  | Readonly<{ do: 'lie'; node: number; what: 'disks.wipe' | 'pci.reset' | 'hypervisor.stop' | 'network.detach' }>
  | Readonly<{ do: 'reboot'; node: number }>
  | Readonly<{ do: 'guest_crash'; node: number }>
  | Readonly<{ do: 'host_clock'; node: number; step_ms: number }>
  | Readonly<{ do: 'server_clock'; step_ms: number }>
  | Readonly<{ do: 'heal' }>
  | Readonly<{ do: 'pause'; ms: number }>
  /** Of the whole history, wherever it stands. */
  | Readonly<{ do: 'layout'; of: Layout }>;

const KIND_SET = {
  launch: true,
  launch_again: true,
  release: true,
  power: true,
  protect: true,
  grant: true,
  revoke: true,
  look: true,
  trespass: true,
  events: true,
  write_disk: true,
  project_create: true,
  project_delete: true,
  quota: true,
  drain: true,
  hold: true,
  convert: true,
  slot: true,
  approve: true,
  retire: true,
  node_delete: true,
  clear_failures: true,
  force_release: true,
  force_cleanup: true,
  run_retry: true,
  run_cancel: true,
  rotate: true,
  kill: true,
  cut_database: true,
  silence_database: true,
  restart_database: true,
  jump_database_clock: true,
  lose_commit: true,
  cut_agent: true,
  kill_agent: true,
  silence: true,
  host_fault: true,
  lie: true,
  reboot: true,
  guest_crash: true,
  host_clock: true,
  server_clock: true,
  heal: true,
  pause: true,
  layout: true,
} as const satisfies Record<Command['do'], true>;
export const COMMAND_KINDS = Object.keys(KIND_SET) as readonly Command['do'][];

/** `overlap`: the next command is played before the response to this one. */
export type Played = Command & Readonly<{ overlap?: true }>;

type Random = () => number;

/** mulberry32: small, fast, and the same on every computer. */
const randomOf = (seed: number): Random => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Processes of the operating system start slowly. */
const SPAWNED_EVERY = 50;
const SPLIT_EVERY = 5;
const PICK_MAX = 1_000;
const KINDS = [
  'slice.bundle_lease',
  'slice.image_clone',
  'slice.vm_start',
  'slice.vm_readiness',
  'slice.vm_stop',
  'slice.cleanup',
  'node.cleanup',
  'slice.vm_reboot',
  'allocation.provision_user',
  'allocation.deprovision_user',
  'allocation.install_authorized_keys',
] as const;

export const generate = (seed: number, length: number): readonly Played[] => {
  const random = randomOf(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const pick = (): number => below(PICK_MAX);
  const who = (): number => below(2);
  const node = (): number => below(3);
  const chance = (p: number): boolean => random() < p;
  /** Faults of the worker and of the API reveal most. */
  const process = (): ProcessRole => oneOf([...PROCESS_ROLES, 'api', 'worker', 'worker']);
  const makers: readonly (readonly [weight: number, make: () => Command])[] = [
    [18, () => ({ do: 'launch', who: who(), gpus: oneOf([1, 1, 1, 2, 2, 4, 8]), key: chance(0.5), project: pick() })],
    [3, () => ({ do: 'launch_again', who: who(), pick: pick() })],
    [14, () => ({ do: 'release', who: who(), pick: pick() })],
    [8, () => ({ do: 'power', who: who(), pick: pick(), to: oneOf(['stop', 'start', 'reboot', 'reinstall']) })],
    [2, () => ({ do: 'protect', who: who(), pick: pick(), on: chance(0.5) })],
    [3, () => ({ do: 'grant', who: who(), pick: pick() })],
    [2, () => ({ do: 'revoke', who: who(), pick: pick() })],
    [6, () => ({ do: 'look', who: who(), pick: pick() })],
    [2, () => ({ do: 'trespass', who: who(), pick: pick() })],
    [4, () => ({ do: 'events', who: who() })],
    [5, () => ({ do: 'write_disk', who: who(), pick: pick() })],
    [1, () => ({ do: 'project_create', who: who() })],
    [1, () => ({ do: 'project_delete', who: who(), pick: pick() })],
    [2, () => ({ do: 'quota', who: who(), limit: oneOf([null, 0, 2, 6]) })],
    [2, () => ({ do: 'drain', node: node(), on: chance(0.4) })],
    [1, () => ({ do: 'hold', node: node(), on: chance(0.4) })],
    [1, () => ({ do: 'convert', node: node(), to: oneOf(['slice', 'baremetal']) })],
    [2, () => ({ do: 'slot', node: node(), slot: below(8), to: oneOf(['disable', 'enable', 'quarantine', 'repair']) })],
    [1, () => ({ do: 'approve', node: node() })],
    [0.3, () => ({ do: 'retire', node: node() })],
    [0.6, () => ({ do: 'node_delete', node: node() })],
    [2, () => ({ do: 'clear_failures', node: node() })],
    [1, () => ({ do: 'force_release', pick: pick() })],
    [2, () => ({ do: 'force_cleanup', pick: pick(), absent: chance(0.3) })],
    [2, () => ({ do: 'run_retry', pick: pick() })],
    [2, () => ({ do: 'run_cancel', pick: pick() })],
    [0.5, () => ({ do: 'rotate', purpose: oneOf(['node_ca', 'task_signer', 'certificate_signer']) })],
    [0.6, () => ({ do: 'kill', process: process() })],
    [1, () => ({ do: 'cut_database', process: process() })],
    [0.5, () => ({ do: 'silence_database', process: process(), ms: oneOf([100, 1_000, 6_000]) })],
    [0.3, () => ({ do: 'restart_database', ms: oneOf([50, 500]) })],
    [0.2, () => ({ do: 'jump_database_clock', hours: oneOf([1, 12]) })],
    [2, () => ({ do: 'lose_commit', process: process() })],
    [2, () => ({ do: 'cut_agent', node: node() })],
    [0.7, () => ({ do: 'kill_agent', node: node() })],
    [1, () => ({ do: 'silence', node: node(), on: chance(0.5) })],
    [
      3,
      () => ({
        do: 'host_fault',
        node: node(),
        kind: oneOf(KINDS),
        effect: oneOf(['fail', 'fail', 'crash', 'crash_after', 'hang']),
      }),
    ],
    [
      1.5,
      () => ({
        do: 'lie',
        node: node(),
        what: oneOf(['disks.wipe', 'pci.reset', 'hypervisor.stop', 'network.detach']),
      }),
    ],
    [0.7, () => ({ do: 'reboot', node: node() })],
    [0.7, () => ({ do: 'guest_crash', node: node() })],
    [0.7, () => ({ do: 'host_clock', node: node(), step_ms: oneOf([-600_000, -5_000, 5_000, 600_000]) })],
    [0.5, () => ({ do: 'server_clock', step_ms: oneOf([-5_000, 5_000, 60_000]) })],
    [2, () => ({ do: 'heal' })],
    [6, () => ({ do: 'pause', ms: oneOf([20, 50, 100, 300]) })],
  ];
  const total = makers.reduce((sum, [weight]) => sum + weight, 0);
  const next = (): Command => {
    let at = random() * total;
    for (const [weight, make] of makers) {
      at -= weight;
      if (at < 0) return make();
    }
    return { do: 'heal' };
  };
  const layout: Played[] =
    seed % SPAWNED_EVERY === 0
      ? [{ do: 'layout', of: 'spawned' }]
      : seed % SPLIT_EVERY === 0
        ? [{ do: 'layout', of: 'split' }]
        : [];
  const played = Array.from({ length }, (): Played => {
    const command = next();
    return chance(0.3) ? { ...command, overlap: true } : command;
  });
  return [...layout, ...played];
};

/** One line each, as a failing history is printed. */
export const describeCommands = (commands: readonly Played[]): string =>
  commands.map((command) => JSON.stringify(command)).join('\n');

/** What `describeCommands` printed. */
export const parseCommands = (text: string): readonly Played[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const command: Played = JSON.parse(line);
      invariant(COMMAND_KINDS.includes(command.do), `no command is named ${command.do}`);
      return command;
    });

export const layoutOf = (commands: readonly Played[]): Layout =>
  commands.find((command) => command.do === 'layout')?.of ?? 'joined';
