/**
 * The inside of a simulated host: its state, its clock and the one gate through which every operation goes. The gate
 * reads the fault rules, lets them disturb the operation, and counts their use before they act, so that a rule for one
 * crash survives that crash as used.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TaskKind } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import {
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
import { happen } from './happening.ts';
import { type Hardware, hardwareOf } from './hardware.ts';
import { uuidOf } from './identity.ts';
import type { Profile } from './profile-shape.ts';
import { isMeant, type SimSlot, slotsOf, textsIn } from './slot.ts';
import { openStore, type State, type Store } from './state.ts';

/** How long things take. Nothing takes any time unless told. */
export type Pace = Readonly<{ boot_ms: number; clone_ms: number; wipe_ms: number; pull_ms: number; grace_ms: number }>;

export type CoreOptions = Readonly<{
  dir: string;
  name: string;
  profile: Profile;
  disk_bytes: number;
  /** The kernel command line gives the GPUs to vfio-pci, so that the binding outlives a boot. */
  vfio_at_boot: boolean;
  pace: Pace;
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
  pace: Pace;
  store: Store;
  now: () => Date;
  pause: (ms: number) => Promise<void>;
  /** The rule that says so, if one does for any of the names; for the whole host if none are given. */
  fault(state: FaultState, ...names: readonly string[]): StateFault | undefined;
  faults(state: FaultState): readonly (StateFault & FaultRule)[];
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
  let isDead = false;

  const stateRules = (state: FaultState) =>
    readFaults(dir)
      .filter(isStateFault)
      .filter((rule) => rule.state === state);

  /** What happens once happens now, if a rule for it has appeared. */
  const catchUp = (rules: readonly FaultRule[]): void => {
    const hits = store.read().fault_hits;
    for (const rule of rules) {
      if (!isStateFault(rule) || !ONCE.includes(rule.state) || hits[rule.id] !== undefined) continue;
      store.change((state) => {
        state.fault_hits[rule.id] = 1;
        happen(place, state, rule);
      });
    }
  };

  const isLeft = (rule: OperationFault & FaultRule): boolean =>
    rule.times === undefined || (store.read().fault_hits[rule.id] ?? 0) < rule.times;

  const use = (rule: OperationFault & FaultRule): void => {
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

  const disturb = async (rule: OperationFault & FaultRule, what: string): Promise<void> => {
    use(rule);
    switch (rule.do) {
      case 'fail':
        throw new HostError(rule.code ?? 'host_error', rule.message ?? `${what} failed, as a fault rule asks.`);
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
    rulesNow: () => readonly (OperationFault & FaultRule)[],
    work: (isLie: boolean) => T | Promise<T>,
  ): Promise<T> => {
    if (isDead) throw new Error(`The process of ${name} has crashed.`);
    let isLie = false;
    for (const rule of rulesNow()) {
      if (rule.after === true) continue;
      await disturb(rule, what);
      isLie ||= rule.do === 'lie';
    }
    const result = await work(isLie);
    for (const rule of rulesNow()) if (rule.after === true) await disturb(rule, what);
    return result;
  };

  const rulesFor = (operation: HostOperation, touched: readonly string[]) => {
    const rules = readFaults(dir);
    catchUp(rules);
    const kind = task.getStore();
    return rules.filter((rule): rule is OperationFault & FaultRule => {
      if (isStateFault(rule) || !isLeft(rule) || !isMeant(place, rule, touched)) return false;
      if (!operationsOf(rule.when).includes(operation)) return false;
      // Inside a task its own rules act at its edge; only a lie needs the operation that tells it.
      return !isTaskKind(rule.when) || kind === undefined || (kind === rule.when && rule.do === 'lie');
    });
  };

  return {
    dir,
    name,
    profile,
    hardware: hardwareOf(profile),
    slots,
    disk_bytes: options.disk_bytes,
    vfio_at_boot: options.vfio_at_boot,
    pace: options.pace,
    store,
    now,
    pause,
    fault: (state, ...names) => stateRules(state).find((rule) => names.length === 0 || isMeant(place, rule, names)),
    faults: stateRules,
    act: (operation, touched, work) =>
      gate(
        operation,
        () => rulesFor(operation, touched),
        (isLie) => {
          if (!store.read().is_on) throw new HostError('host_error', `${name} is powered off.`);
          return work(isLie);
        },
      ),
    during: ({ kind, params }, work) =>
      task.run(kind, () => {
        const touched = textsIn(params);
        const rules = () =>
          readFaults(dir).filter(
            (rule): rule is OperationFault & FaultRule =>
              !isStateFault(rule) &&
              rule.when === kind &&
              rule.do !== 'lie' &&
              isLeft(rule) &&
              isMeant(place, rule, touched),
          );
        return gate(kind, rules, work);
      }),
  };
};
