/**
 * `slice.reconcile`: what is on the host against what should be. It tells and does not repair: a domain without our tag is
 * named and never touched, a machine that is gone is not started again. What it changes is the binding of devices
 * that the platform names because nobody holds them, and what the network itself forgot of ports that are there.
 */
import type { FabricPartition, PciFunction, TaskOutput, TaskSlot } from '@gpuaas/contract/node';
import type { Domain, Port } from '../host/host.ts';
import { type Lease, readLeases, refuseStale } from '../leases.ts';
import { hasFallenOff } from './bundle-slot.ts';
import { type Act, exclusive, slotKeys } from './exclusive.ts';
import { domainName } from './names.ts';
import type { TaskContext, TaskHandler } from './task.ts';

type Output = TaskOutput<'slice.reconcile'>;
type Drift = Output['drift'][number];

const node = (message: string): Drift => ({ slot_id: null, message });

export const reconcile: TaskHandler<'slice.reconcile'> = (ctx, params) =>
  exclusive(ctx, slotKeys(params.rebind), async (act) => {
    const book = await readLeases(ctx.state);
    refuseStale(book, params.rebind);
    // A switch that was restarted has shut the ports of guests that still run.
    const mended = await act('restoring the network', ctx.host.network.restore?.() ?? Promise.resolve([]));
    if (mended.length > 0) ctx.log.warn({ mended }, 'the network of guests was put back');
    const [domains, ports, pci, fabric] = await act(
      'reading the host',
      Promise.all([ctx.host.hypervisor.list(), ctx.host.network.ports(), ctx.host.pci.list(), ctx.host.fabric.facts()]),
    );
    const rebinding = await rebindAll(ctx, act, { slots: params.rebind, leases: book.leases, pci });
    const heldPartitions = new Set(book.leases.map((lease) => lease.plan.fabric_partition_id));
    return {
      domains: domains.map((domain) => ({ ...domain, is_ours: isOurs(domain) })),
      drift: [
        ...domains.flatMap((domain) => domainDrift(domain, book.leases)),
        ...book.leases.flatMap((lease) => leaseDrift({ lease, domains, ports, pci, partitions: fabric.partitions })),
        ...ports
          .filter((port) => !book.leases.some((lease) => lease.plan.ovs_port === port.name))
          .map((port) => node(`port ${port.name} of allocation ${port.allocation_id} is attached without a lease`)),
        ...fabric.partitions
          .filter((partition) => partition.is_active && !heldPartitions.has(partition.partition_id))
          .map((partition) => node(`fabric partition ${partition.partition_id} is active without a lease`)),
        ...rebinding.drift,
      ],
      rebound: rebinding.rebound,
    };
  });

const isOurs = (domain: Domain): boolean =>
  domain.allocation_id !== null && domain.name === domainName(domain.allocation_id);

const domainDrift = (domain: Domain, leases: readonly Lease[]): readonly Drift[] => {
  if (!isOurs(domain)) return [node(`domain ${domain.name} is not of this platform; it is left alone`)];
  if (leases.some((lease) => lease.allocation_id === domain.allocation_id)) return [];
  return [node(`domain ${domain.name}, ${domain.state}, has no lease on this host; it is left alone`)];
};

type Seen = Readonly<{
  lease: Lease;
  domains: readonly Domain[];
  ports: readonly Port[];
  pci: readonly PciFunction[];
  partitions: readonly FabricPartition[];
}>;

/** A lease that was never used, or is being cleaned, owes the host nothing yet or no longer. */
const leaseDrift = ({ lease, domains, ports, pci, partitions }: Seen): readonly Drift[] => {
  if (lease.touched_at === null || lease.cleaning_since !== null) return [];
  const name = domainName(lease.allocation_id);
  const domain = domains.find((each) => each.name === name);
  if (domain === undefined) return [node(`allocation ${lease.allocation_id} is leased, but has no domain here`)];
  if (domain.state !== 'running') return [node(`domain ${name} is ${domain.state}`)];
  return [
    ...(ports.some((port) => port.name === lease.plan.ovs_port)
      ? []
      : [node(`domain ${name} runs without its port ${lease.plan.ovs_port}`)]),
    ...(isJoined(lease, partitions)
      ? []
      : [node(`domain ${name} runs, but fabric partition ${lease.plan.fabric_partition_id} is not active`)]),
    ...lease.slots.flatMap((slot) => bindingDrift(pci, slot)),
  ];
};

/** Fabric Manager forgets what was active when it starts anew; the guest then has no NVLink. */
const isJoined = (lease: Lease, partitions: readonly FabricPartition[]): boolean =>
  lease.plan.fabric_partition_id === null ||
  partitions.some((each) => each.partition_id === lease.plan.fabric_partition_id && each.is_active);

const devicesOf = (slot: TaskSlot): readonly string[] => [slot.gpu_pci_address, slot.fabric_vf_pci_address];

const bindingDrift = (pci: readonly PciFunction[], slot: TaskSlot): readonly Drift[] =>
  devicesOf(slot).flatMap((address) => {
    const found = pci.find((each) => each.address === address);
    const tell = (message: string): Drift[] => [{ slot_id: slot.slot_id, message }];
    if (found === undefined) return tell(`${address} is not on the host`);
    if (hasFallenOff(found)) return tell(`${address} does not answer on the bus`);
    if (found.driver !== 'vfio-pci') return tell(`${address} is bound to ${found.driver ?? 'no driver'}, not vfio-pci`);
    return [];
  });

const rebindAll = async (
  ctx: TaskContext,
  act: Act,
  given: Readonly<{ slots: readonly TaskSlot[]; leases: readonly Lease[]; pci: readonly PciFunction[] }>,
): Promise<Pick<Output, 'drift' | 'rebound'>> => {
  const drift: Drift[] = [];
  const rebound: string[] = [];
  for (const slot of given.slots) {
    const holder = given.leases.find((lease) => lease.slots.some((each) => each.slot_id === slot.slot_id));
    if (holder !== undefined) {
      drift.push({ slot_id: slot.slot_id, message: `not bound anew: allocation ${holder.allocation_id} holds it` });
      continue;
    }
    for (const address of devicesOf(slot)) {
      const found = given.pci.find((each) => each.address === address);
      if (found === undefined) drift.push({ slot_id: slot.slot_id, message: `${address} is not on the host` });
      else if (found.driver !== 'vfio-pci') {
        await act(`binding ${address}`, ctx.host.pci.bind(address, 'vfio-pci'));
        rebound.push(address);
      }
    }
  }
  return { drift, rebound };
};
