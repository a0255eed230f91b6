/**
 * Guests of a simulated host. A guest boots if its boot disk holds an image, writes to its disks as tenants do, and
 * sends its report when it is up. A domain without our tag is listed and never changed.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkUserData } from '../../vm/cloud-init.ts';
import { platformChecks } from '../../vm/data-disks.ts';
import { type Domain, HostError, type Hypervisor, type VmPlan } from '../host.ts';
import type { Core } from './core.ts';
import { blockOf } from './disk-table.ts';
import { bootKindsOf, domainNames, findSame, passedDevices, refuseStart } from './domain-check.ts';
import { setUpDataDisks } from './guest-disks.ts';
import { sshKeyOf } from './identity.ts';
import { signaturesOn } from './signature.ts';
import type { SimDomain } from './state.ts';

const seedFile = (core: Core, name: string): string => join(core.dir, 'seeds', `${name}.json`);

export const getManaged = (core: Core, name: string): SimDomain | undefined => {
  const domain = core.store.read().domains.find((one) => one.name === name);
  if (domain !== undefined && domain.allocation_id === null) {
    throw new HostError('conflict', `${name} is not managed by GPUaaS. The agent does not change it.`);
  }
  return domain;
};

const edit = (core: Core, name: string, change: Partial<SimDomain>): void =>
  core.store.change((state) => {
    const domain = state.domains.find((one) => one.name === name);
    if (domain !== undefined) Object.assign(domain, change);
  });

const bootSerial = (plan: VmPlan['plan']): string | undefined =>
  plan.slots.find((slot) => slot.slot_id === plan.boot_slot_id)?.nvme_serial;

/** The GPUs that the guest OS finds, and the data disks that it mounts. If its partition was not active before the boot, the fabric never comes up. */
const bootGuest = async (
  core: Core,
  plan: VmPlan['plan'],
  storage: SimDomain['storage'],
): Promise<SimDomain['guest']> => {
  const serial = bootSerial(plan);
  if (serial === undefined || !(await signaturesOn(blockOf(core, serial))).includes('ext4')) return null;
  const { fabric_partition_id: partition } = plan;
  const hasFabric = partition === null || core.store.read().active_partitions.includes(partition);
  const mounts = storage === 'formatted' ? await setUpDataDisks(core, plan) : [];
  return { gpu_count: hasFabric ? plan.slots.length : 0, mounts };
};

/** Three quarters in, away from everything an image writes. */
const leaveTenantData = async (core: Core, machine: VmPlan): Promise<void> => {
  const offset = Math.floor((core.disk_bytes * 3) / 4);
  const bytes = Buffer.alloc(4096, `data of ${machine.allocation_id} `);
  for (const slot of machine.plan.slots) await blockOf(core, slot.nvme_serial).write(offset, bytes);
};

const start = async (core: Core, machine: VmPlan): Promise<void> => {
  if (findSame(core, machine)?.state === 'running') return;
  refuseStart(core, machine);
  const guest = await bootGuest(core, machine.plan, machine.seed.storage);
  if (guest !== null) await leaveTenantData(core, machine);
  findSame(core, machine);
  mkdirSync(join(core.dir, 'seeds'), { recursive: true });
  writeFileSync(seedFile(core, machine.name), JSON.stringify(machine.seed), { mode: 0o600 });
  const domain: SimDomain = {
    name: machine.name,
    allocation_id: machine.allocation_id,
    plan: machine.plan,
    passes_fabric: machine.passes_fabric,
    state: 'running',
    started_at: core.now().toISOString(),
    guest,
    install: machine.seed.install ?? 0,
    storage: machine.seed.storage ?? 'raw',
    readiness_checks: machine.seed.readiness_checks ?? [],
    hostname: machine.seed.hostname,
    ssh_public_keys: machine.seed.ssh_public_keys,
  };
  core.store.change((state) => {
    state.domains = [...state.domains.filter(({ name }) => name !== machine.name), domain];
  });
};

/** Booted, and long enough to have sent a report. */
export const isUp = (core: Core, domain: SimDomain): boolean =>
  domain.state === 'running' &&
  domain.guest !== null &&
  domain.started_at !== null &&
  core.now().getTime() >= Date.parse(domain.started_at) + core.durations.boot_ms;

const reboot = async (core: Core, name: string, isHard: boolean): Promise<void> => {
  const domain = getManaged(core, name);
  if (domain === undefined || domain.state === 'shut_off') throw new HostError('drift', `${name} is not running.`);
  if (!isHard && (domain.state !== 'running' || core.fault('guest_ignores_shutdown', ...domainNames(domain)))) {
    throw new HostError('timeout', `${name} did not respond to the reboot request.`);
  }
  const guest = domain.plan === null ? null : await bootGuest(core, domain.plan, domain.storage);
  edit(core, name, { state: 'running', started_at: core.now().toISOString(), guest });
};

const stop = async (
  core: Core,
  name: string,
  graceS: number,
  { isLie, signal }: Readonly<{ isLie: boolean; signal: AbortSignal | undefined }>,
): Promise<'absent' | 'graceful' | 'hard'> => {
  const domain = getManaged(core, name);
  if (domain === undefined || domain.state === 'shut_off') return 'absent';
  if (isLie) return 'graceful';
  const listens =
    graceS > 0 && isUp(core, domain) && core.fault('guest_ignores_shutdown', ...domainNames(domain)) === undefined;
  if (!listens && graceS > 0) await core.pause(Math.min(graceS * 1000, core.durations.grace_ms));
  if (!listens && graceS > 0 && signal?.aborted === true)
    throw new HostError('timeout', `the wait for ${name} to shut down was cancelled.`);
  edit(core, name, { state: 'shut_off', started_at: null, guest: null, ended_by: listens ? 'guest' : 'host' });
  return listens ? 'graceful' : 'hard';
};

/** A host key is created at installation and lasts as long as the installation. */
export const hostKeyName = (
  core: Pick<Core, 'name'>,
  { name, allocation_id: allocation, install = 0 }: SimDomain,
): readonly (string | number)[] => [core.name, allocation ?? name, ...(install === 0 ? [] : [install])];

const remove = (core: Core, name: string): void => {
  const domain = getManaged(core, name);
  if (domain !== undefined && domain.state !== 'shut_off') {
    throw new HostError('conflict', `${name} is ${domain.state}; stop it before it is removed.`);
  }
  rmSync(seedFile(core, name), { force: true });
  if (domain === undefined) return;
  core.store.change((state) => {
    state.domains = state.domains.filter((one) => one.name !== name);
  });
};

const inspect = (core: Core): Awaited<ReturnType<Hypervisor['inspect']>> => {
  const { domains } = core.store.read();
  const seeds = join(core.dir, 'seeds');
  const names = existsSync(seeds) ? readdirSync(seeds).map((file) => file.replace(/\.json$/, '')) : [];
  return {
    domains: domains.map(({ name, allocation_id, state, plan, passes_fabric, devices, ended_by }) => ({
      name,
      allocation_id,
      state,
      devices:
        plan === null
          ? (devices ?? [])
          : [...passedDevices({ plan, passes_fabric }), ...plan.slots.map((slot) => slot.nvme_serial)],
      ended_by: state === 'crashed' ? 'crash' : state === 'shut_off' ? (ended_by ?? null) : null,
    })),
    leftovers: names.filter((name) => !domains.some((domain) => domain.name === name)).sort(),
  };
};

export const createHypervisor = (core: Core): Hypervisor => {
  const names = (name: string): readonly string[] =>
    core.store
      .read()
      .domains.filter((domain) => domain.name === name)
      .flatMap(domainNames);
  return {
    bootKinds: () => core.act('hypervisor.bootKinds', [], () => bootKindsOf(core)),
    list: () =>
      core.act('hypervisor.list', [], () =>
        core.store.read().domains.map(({ name, allocation_id, state }): Domain => ({ name, allocation_id, state })),
      ),
    inspect: () => core.act('hypervisor.inspect', [], () => inspect(core)),
    // The default host configuration.
    judge: async (userData) => checkUserData(userData, 'ubuntu'),
    start: (machine) => core.act('hypervisor.start', domainNames(machine), () => start(core, machine)),
    reboot: (name, isHard) => core.act('hypervisor.reboot', names(name), () => reboot(core, name, isHard)),
    stop: (name, graceS, signal) =>
      core.act('hypervisor.stop', names(name), (isLie) => stop(core, name, graceS, { isLie, signal })),
    remove: (name) => core.act('hypervisor.remove', names(name), () => remove(core, name)),
    guest: (name) =>
      core.act('hypervisor.guest', names(name), (isLie) => {
        const domain = core.store.read().domains.find((one) => one.name === name);
        if (domain?.guest == null || !isUp(core, domain)) return null;
        const count = domain.guest.gpu_count;
        return {
          ssh_host_key: sshKeyOf(...hostKeyName(core, domain)),
          gpu_count: isLie ? Math.max(0, count - 1) : count,
          checks: [...platformChecks(domain.storage), ...(domain.readiness_checks ?? [])].map((check) =>
            core.fault('guest_check_fails', ...domainNames(domain)) === undefined
              ? { name: check, is_ok: true, why: null }
              : { name: check, is_ok: false, why: 'a fault was laid for it' },
          ),
        };
      }),
  };
};
