/**
 * Faults of a simulated host, as rules in its directory: one file per rule under `faults/`, read before each operation.
 * A rule either disturbs an operation (`when` and `do`) or sets a state (`state`). A state holds until its rule is
 * removed, except those in ONCE, which happen when first seen. The host stores how often a rule was used, so that one
 * crash is not a crash at every start.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TASK_KINDS, type TaskKind } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import type { HostErrorCode } from '../host.ts';

export const HOST_OPERATIONS = [
  'pci.list',
  'pci.iommuGroups',
  'pci.bind',
  'pci.reset',
  'disks.list',
  'disks.open',
  'disks.wipe',
  'disks.read',
  'disks.signatures',
  'images.list',
  'images.pull',
  'images.evict',
  'images.verify',
  'images.check',
  'images.clone',
  'hypervisor.bootKinds',
  'hypervisor.list',
  'hypervisor.inspect',
  'hypervisor.start',
  'hypervisor.reboot',
  'hypervisor.stop',
  'hypervisor.remove',
  'hypervisor.guest',
  'network.facts',
  'network.nics',
  'network.attach',
  'network.detach',
  'network.ports',
  'network.remains',
  'network.lease',
  'fabric.facts',
  'fabric.activate',
  'fabric.deactivate',
  'fabric.declare',
  'gpu.list',
  'system.facts',
  'system.tools',
  'system.kernelLog',
  'system.ensureUser',
  'system.removeUser',
  'system.sshHostKey',
  'access.dial',
  'access.serial',
  'access.setGuestKeys',
] as const;
export type HostOperation = (typeof HOST_OPERATIONS)[number];

export const FAULT_EFFECTS = ['hang', 'fail', 'crash', 'lie', 'slow'] as const;
export type FaultEffect = (typeof FAULT_EFFECTS)[number];

export const FAULT_STATES = [
  'disk_mounted',
  'disk_held',
  'disk_missing',
  'wipe_rejected',
  'device_missing',
  'iommu_group_merged',
  'iommu_off',
  'driver_binding_lost',
  'mig_enabled',
  'vgpu_children',
  'link_width_reduced',
  'gpu_off_the_bus',
  'gpu_xid',
  'gpu_ecc',
  'gpu_temperature',
  'reset_fails',
  'reset_reaches_neighbours',
  'd3cold',
  'fabric_manager_dead',
  'fabric_manager_restarted',
  'fabric_driver_differs',
  'no_lease',
  'wrong_lease',
  'mac_conflict',
  'guest_ignores_shutdown',
  'guest_check_fails',
  'guest_crashed',
  'image_cache_full',
  'image_cache_damaged',
  'hugepages_gone',
  'uefi_firmware_missing',
  'boot_kernel_missing',
  'rebooted',
] as const;
export type FaultState = (typeof FAULT_STATES)[number];

/** These happen once, when they are first seen, and change the host. */
export const ONCE: readonly FaultState[] = [
  'driver_binding_lost',
  'fabric_manager_restarted',
  'guest_crashed',
  'rebooted',
];

/** Where a result can be false: it reports success without the work. */
export const CAN_FAKE_SUCCESS: readonly HostOperation[] = [
  'disks.wipe',
  'images.clone',
  'images.pull',
  'images.verify',
  'hypervisor.guest',
  'hypervisor.stop',
  'network.detach',
  'pci.reset',
];

/** The operation that identifies a task kind where the host does not know the task. */
export const OPERATIONS_OF_TASK: Readonly<Record<TaskKind, readonly HostOperation[]>> = {
  'diag.health_probe': ['system.kernelLog'],
  'slice.topology_discover': ['system.tools'],
  'slice.bundle_lease': ['pci.iommuGroups'],
  'image.pull': ['images.pull'],
  'image.evict': ['images.evict'],
  'image.verify': ['images.verify'],
  'slice.image_clone': ['images.clone'],
  'slice.vm_start': ['hypervisor.start'],
  'slice.vm_readiness': ['hypervisor.guest', 'network.lease'],
  'slice.vm_reboot': ['hypervisor.reboot'],
  'slice.vm_stop': ['hypervisor.stop'],
  'slice.cleanup': ['disks.wipe'],
  'slice.reconcile': ['hypervisor.list'],
  'slice.orphan_remove': ['hypervisor.remove'],
  'node.cleanup': ['disks.wipe'],
  'allocation.provision_user': ['system.ensureUser'],
  'allocation.install_authorized_keys': ['system.ensureUser', 'access.setGuestKeys'],
  'allocation.deprovision_user': ['system.removeUser'],
  'stream.open': ['access.dial', 'access.serial'],
  'agent.update': [],
};

/** Without a filter the rule is for the whole host. A slot is given by its index, in the order of its GPUs. */
type Filter = Readonly<{ slot?: number; serial?: string; address?: string }>;
export type OperationFault = Filter &
  Readonly<{
    when: HostOperation | TaskKind;
    do: FaultEffect;
    /** How many times; always if absent. */
    times?: number;
    /** The effect happens first: a crash after it loses only the response. */
    after?: boolean;
    delay_ms?: number;
    code?: HostErrorCode;
    message?: string;
  }>;
/** `value` is the Xid, the temperature, the error count or the remaining lanes. */
export type StateFault = Filter & Readonly<{ state: FaultState; value?: number }>;
export type NewFault = OperationFault | StateFault;
export type ActiveFault<T extends NewFault> = T & Readonly<{ id: string; added_at: string }>;
export type FaultRule = ActiveFault<OperationFault> | ActiveFault<StateFault>;

export const isStateFault = <T extends NewFault>(rule: T): rule is Extract<T, StateFault> => 'state' in rule;

const folder = (dir: string): string => join(dir, 'faults');
const oneOf = (list: readonly string[], value: unknown): boolean => typeof value === 'string' && list.includes(value);

/** Throws with the error: a fault that never applies is worse than none. */
export const checkFault = (fault: NewFault): void => {
  if (isStateFault(fault)) {
    if (!oneOf(FAULT_STATES, fault.state)) throw new Error(`There is no state "${String(fault.state)}".`);
    return;
  }
  if (!oneOf([...HOST_OPERATIONS, ...TASK_KINDS], fault.when)) {
    throw new Error(`There is no operation or kind of task "${String(fault.when)}".`);
  }
  if (!oneOf(FAULT_EFFECTS, fault.do)) throw new Error(`A fault cannot "${String(fault.do)}".`);
  if (fault.do === 'lie' && !operationsOf(fault.when).some((operation) => CAN_FAKE_SUCCESS.includes(operation))) {
    throw new Error(
      `${fault.when} cannot lie; only ${CAN_FAKE_SUCCESS.join(', ')} and tasks that do one of these can.`,
    );
  }
};

export const operationsOf = (when: HostOperation | TaskKind): readonly HostOperation[] =>
  isTaskKind(when) ? OPERATIONS_OF_TASK[when] : [when];
export const isTaskKind = (when: HostOperation | TaskKind): when is TaskKind => when in OPERATIONS_OF_TASK;

export const addFault = (dir: string, fault: NewFault, now: () => Date = () => new Date()): FaultRule => {
  checkFault(fault);
  const rule = { ...fault, id: mintId('flt', now().getTime()), added_at: now().toISOString() };
  mkdirSync(folder(dir), { recursive: true });
  const file = join(folder(dir), `${rule.id}.json`);
  writeFileSync(`${file}.new`, `${JSON.stringify(rule)}\n`);
  renameSync(`${file}.new`, file);
  return rule;
};

/** Oldest first. */
export const readFaults = (dir: string): readonly FaultRule[] => {
  let names: string[];
  try {
    names = readdirSync(folder(dir));
  } catch (err) {
    if (isMissing(err)) return [];
    throw err;
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => readRule(join(folder(dir), name)));
};

const readRule = (file: string): readonly FaultRule[] => {
  try {
    const rule = JSON.parse(readFileSync(file, 'utf8')) as FaultRule;
    checkFault(rule);
    return [rule];
  } catch (err) {
    if (isMissing(err)) return [];
    throw new Error(`The fault rule ${file} cannot be read.`, { cause: err });
  }
};

/** All of them if no IDs are given. Returns how many there were. */
export const clearFaults = (dir: string, ids?: readonly string[]): number => {
  const rules = readFaults(dir).filter((rule) => ids === undefined || ids.includes(rule.id));
  for (const rule of rules) rmSync(join(folder(dir), `${rule.id}.json`), { force: true });
  return rules.length;
};

const isMissing = (err: unknown): boolean => err instanceof Error && 'code' in err && err.code === 'ENOENT';
