/**
 * The core of a simulated host: its state, its clock and the one gate for every operation. The gate reads the fault
 * rules, applies them, and counts their use before they act, so that a rule for one crash counts as used after that
 * crash.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TaskKind } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import {
  type ActiveFault,
  type FaultRule,
  type FaultState,
  type HostOperation,
  isStateFault,
  isTaskKind,
  ONCE,
  type OperationFault,
  operationsOf,
  readFaults,
  type StateFault,
} from './fault.ts';
import { type Hardware, hardwareOf } from './hardware.ts';
import { uuidOf } from './identity.ts';
import type { Profile } from './profile-shape.ts';
import { applyEvent } from './sim-events.ts';
import { isMeant, type SimSlot, slotsOf, textsIn } from './slot.ts';
import { openStore, type State, type Store } from './state.ts';

/** Durations of operations (default 0). */
export type Durations = Readonly<{
  boot_ms: number;
  clone_ms: number;
  wipe_ms: number;
  pull_ms: number;
  grace_ms: number;
}>;

export type CoreOptions = Readonly<{
  dir: string;
  name: string;
  profile: Profile;
  disk_bytes: number;
  /** The kernel command line binds the GPUs to vfio-pci, so that the binding survives a reboot. */
  vfio_at_boot: boolean;
  durations: Durations;
  now: () => Date;
  pause: (ms: number) => Promise<void>;
  onCrash: () => void;
}>;

export type Core = Readonly<{
  dir: string;
  name: string;
  profile: Profile;
  hardware: Hardware;
  slots: readonly SimSlot[];
  disk_bytes: number;
  vfio_at_boot: boolean;
  durations: Durations;
  store: Store;
  now: () => Date;
  pause: (ms: number) => Promise<void>;
  /** The rule that sets this state, if one does for any of the names; for the whole host if none are given. */
  fault(state: FaultState, ...names: readonly string[]): StateFault | undefined;
  faults(state: FaultState): readonly ActiveFault<StateFault>[];
  /** `touched` are the names the operation is about: serials, addresses. */
  act<T>(operation: HostOperation, touched: readonly string[], work: (isLie: boolean) => T | Promise<T>): Promise<T>;
  during<T>(task: Readonly<{ kind: TaskKind; params: object }>, work: () => Promise<T>): Promise<T>;
}>;

const SLOW_MS = 3_000;
const HANG_POLL_MS = 500;

export const firstState = (options: Pick<CoreOptions, 'name' | 'now'>): State => ({
  schema: 1,
  is_on: true,
  boot: { id: uuidOf(options.name, 'boot', 0), at: options.now().toISOString(), count: 0 },
  drivers: {},
  active_partitions: [],
  domains: [],
  ports: [],
  images: [],
  users: {},
  log: [],
  fault_hits: {},
});

export const createCore = (options: CoreOptions): Core => {
  const { dir, name, profile, now, pause } = options;
  const slots = slotsOf(profile, name);
  const place = { name, now, slots, profile };
  const store = openStore(dir, () => firstState(options));
  const task = new AsyncLocalStorage<TaskKind>();
  /** As they were when the newest operation started. */
  let rules: readonly FaultRule[] = [];
  let isDead = false;

  const stateRules = (state: FaultState) => rules.filter(isStateFault).filter((rule) => rule.state === state);

  /** A one-time event happens now, if a rule for it has appeared. */
  const catchUp = (): void => {
    store.refresh();
    rules = readFaults(dir);
    const hits = store.read().fault_hits;
    for (const rule of rules) {
      if (!isStateFault(rule) || !ONCE.includes(rule.state) || hits[rule.id] !== undefined) continue;
      store.change((state) => {
        state.fault_hits[rule.id] = 1;
        applyEvent(place, state, rule);
      });
    }
  };

  const isLeft = (rule: ActiveFault<OperationFault>): boolean =>
    rule.times === undefined || (store.read().fault_hits[rule.id] ?? 0) < rule.times;

  const use = (rule: ActiveFault<OperationFault>): void => {
    if (rule.times === undefined) return;
    store.change((state) => {
      state.fault_hits[rule.id] = (state.fault_hits[rule.id] ?? 0) + 1;
    });
  };

  const hang = async (rule: FaultRule, what: string): Promise<never> => {
    while (readFaults(dir).some((other) => other.id === rule.id)) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, HANG_POLL_MS).unref();
      });
    }
    throw new HostError('timeout', `${what} hung until the fault was cleared.`);
  };

  const disturb = async (rule: ActiveFault<OperationFault>, what: string): Promise<void> => {
    use(rule);
    switch (rule.do) {
      case 'fail':
        throw new HostError(rule.code ?? 'host_error', rule.message ?? `${what} failed because of a fault rule.`);
      case 'slow':
        return pause(rule.delay_ms ?? SLOW_MS);
      case 'hang':
        return hang(rule, what);
      case 'crash':
        isDead = true;
        options.onCrash();
        throw new Error(`The process of ${name} crashed in ${what}.`);
      case 'lie':
        return;
    }
  };

  const gate = async <T>(
    what: string,
    isFor: (rule: OperationFault) => boolean,
    touched: readonly string[],
    work: (isLie: boolean) => T | Promise<T>,
  ): Promise<T> => {
    if (isDead) throw new Error(`The process of ${name} has crashed.`);
    catchUp();
    const found = rules.flatMap((rule) =>
      !isStateFault(rule) && isFor(rule) && isMeant(place, rule, touched) ? [rule] : [],
    );
    let isLie = false;
    for (const rule of found) {
      if (rule.after === true || !isLeft(rule)) continue;
      await disturb(rule, what);
      isLie ||= rule.do === 'lie';
    }
    if (!store.read().is_on) throw new HostError('host_error', `${name} is powered off.`);
    const result = await work(isLie);
    for (const rule of found) if (rule.after === true && isLeft(rule)) await disturb(rule, what);
    return result;
  };

  /** Inside a task its own rules apply at its start; only a false result needs the operation. */
  const isForOperation = (rule: OperationFault, operation: HostOperation): boolean => {
    const kind = task.getStore();
    if (!operationsOf(rule.when).includes(operation)) return false;
    return !isTaskKind(rule.when) || kind === undefined || (kind === rule.when && rule.do === 'lie');
  };

  return {
    dir,
    name,
    profile,
    hardware: hardwareOf(profile),
    slots,
    disk_bytes: options.disk_bytes,
    vfio_at_boot: options.vfio_at_boot,
    durations: options.durations,
    store,
    now,
    pause,
    fault: (state, ...names) => stateRules(state).find((rule) => names.length === 0 || isMeant(place, rule, names)),
    faults: stateRules,
    act: (operation, touched, work) => gate(operation, (rule) => isForOperation(rule, operation), touched, work),
    during: ({ kind, params }, work) =>
      task.run(kind, () => gate(kind, (rule) => rule.when === kind && rule.do !== 'lie', textsIn(params), work)),
  };
};
