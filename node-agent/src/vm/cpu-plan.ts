/**
 * Which CPUs and how much memory each NUMA node of the guest has. A guest has one node for each node of the host that the
 * plan names, in that order, and every vCPU runs on the node whose memory its guest node is made of.
 */
import { HostError, type VmPlan } from '../host/host.ts';
import { cpuList } from './grammar.ts';
import type { HostProfile } from './host-profile.ts';

export type Cell = Readonly<{
  id: number;
  host_node: number;
  vcpus: readonly Readonly<{ vcpu: number; cpus: string }>[];
  memory_kib: number;
}>;
export type CpuPlan = Readonly<{ memory_kib: number; cells: readonly Cell[]; floating: string }>;

export const cpusIn = (list: string): readonly number[] =>
  list === ''
    ? []
    : cpuList(list)
        .split(',')
        .flatMap((part) => {
          const [first = 0, last = first] = part.split('-').map(Number);
          return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
        });

/** The other way round: `0-3,8`. */
export const listOf = (cpus: readonly number[]): string =>
  cpus
    .toSorted((a, b) => a - b)
    .reduce<[number, number][]>((runs, cpu) => {
      const run = runs.at(-1);
      if (run !== undefined && run[1] === cpu - 1) run[1] = cpu;
      else runs.push([cpu, cpu]);
      return runs;
    }, [])
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
    .join(',');

/** Shares that differ by at most one, larger ones first. */
const share = (count: number, parts: number): readonly number[] =>
  Array.from({ length: parts }, (_, index) => Math.floor(count / parts) + (index < count % parts ? 1 : 0));

/** A guest's memory is whole pages, and the plan has counted whole pages. */
const memoryOf = (plan: VmPlan['plan']): Readonly<{ unit_kib: number; units: number }> =>
  plan.hugepages === null
    ? { unit_kib: 1024, units: plan.memory_mib }
    : { unit_kib: plan.hugepages.size_kib, units: plan.hugepages.count };

const choosePins = (wanted: number, own: readonly number[], pinned: readonly number[] | null, node: number) => {
  if (pinned === null) {
    if (wanted > own.length)
      throw new HostError(
        'blocked',
        `${wanted} vCPUs are to run on NUMA node ${node}, the plan has ${own.length} CPUs`,
      );
    return Array.from({ length: wanted }, () => listOf(own));
  }
  const mine = pinned.filter((cpu) => own.includes(cpu));
  if (mine.length < wanted)
    throw new HostError(
      'blocked',
      `${wanted} vCPUs need CPUs of their own on NUMA node ${node}, ${mine.length} are set aside`,
    );
  return mine.slice(0, wanted).map(String);
};

export const planCpus = (plan: VmPlan['plan'], profile: Pick<HostProfile, 'numa' | 'pinned_cpus'>): CpuPlan => {
  const allowed = cpusIn(plan.cpuset);
  if (plan.vcpu_count < 1 || plan.memory_mib < 1) throw new HostError('blocked', 'a VM needs CPUs and memory');
  const { unit_kib, units } = memoryOf(plan);
  const total = { memory_kib: unit_kib * units, floating: listOf(allowed) };
  if (new Set(profile.pinned_cpus ?? []).size !== (profile.pinned_cpus ?? []).length)
    throw new HostError('conflict', 'a CPU is reserved twice for one VM');
  if (profile.numa.length === 0 || plan.numa_nodes.length === 0) return { ...total, cells: [] };
  const vcpus = share(plan.vcpu_count, plan.numa_nodes.length);
  const pages = share(units, plan.numa_nodes.length);
  let next = 0;
  const cells = plan.numa_nodes.map((node, id): Cell => {
    const found = profile.numa.find((one) => one.node === node);
    if (found === undefined) throw new HostError('drift', `the host has no NUMA node ${node}, which the plan names`);
    const here = new Set(cpusIn(found.cpus));
    const own = allowed.filter((cpu) => here.has(cpu));
    const pins = choosePins(vcpus[id] ?? 0, own, profile.pinned_cpus, node);
    if (pins.length === 0 || (pages[id] ?? 0) === 0)
      throw new HostError('blocked', `the VM is too small for ${plan.numa_nodes.length} NUMA nodes`);
    const first = next;
    next += pins.length;
    return {
      id,
      host_node: node,
      vcpus: pins.map((cpus, index) => ({ vcpu: first + index, cpus })),
      memory_kib: (pages[id] ?? 0) * unit_kib,
    };
  });
  return { ...total, cells };
};
