/**
 * `slice.reconcile`: compares the host with what should be there, and rebinds the devices of the named unclaimed slots.
 * The agent also does this every minute (`reconcile/`); this task is for a repair that waits for it. Apart from
 * bindings it reports and does not repair.
 */
import type { HostDrift, PciFunction, TaskOutput, TaskSlot } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';
import { type Lease, readLeases, refuseStale } from '../leases.ts';
import { driftOf, isManaged } from '../reconcile/drift.ts';
import { readHostState } from '../reconcile/read-host.ts';
import { restoreNetwork } from '../reconcile/repair.ts';
import { readAddress } from './address.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, slotKeys, withLocks } from './task-locks.ts';

type Output = TaskOutput<'slice.reconcile'>;
type Finding = Output['findings'][number];

export const reconcile: TaskHandler<'slice.reconcile'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.rebind), async (act) => {
    refuseStale(await readLeases(ctx.state), params.rebind);
    const restored = await act('restoring the network', restoreNetwork(ctx));
    if (restored.length > 0) ctx.log.warn({ restored }, 'restored the network of VMs');
    const hostState = await act(
      'reading the host',
      readHostState({ host: ctx.host, state: ctx.state, now: ctx.now, no_report_since: new Map() }),
    );
    if (hostState.unread.has('pci') && params.rebind.length > 0)
      throw new HostError('host_error', hostState.unreadable.map(({ message }) => message).join('; '));
    // A slot under repair is not made available with an address that another device uses.
    for (const slot of params.rebind) await act('reading the address', readAddress(ctx.host.network, slot));
    const rebinding = await rebindAll(ctx, act, { slots: params.rebind, leases: hostState.leases, pci: hostState.pci });
    return {
      domains: hostState.domains.map((domain) => ({
        name: domain.name,
        allocation_id: domain.allocation_id,
        state: domain.state,
        is_managed: isManaged(domain),
      })),
      findings: [...[...driftOf(hostState), ...hostState.unreadable].map(findingOf), ...rebinding.findings],
      rebound: rebinding.rebound,
    };
  });

const findingOf = ({ slot_id, message }: HostDrift): Finding => ({ slot_id, message });

const devicesOf = (slot: TaskSlot): readonly string[] => [slot.gpu_pci_address, slot.fabric_vf_pci_address];

const rebindAll = async (
  ctx: TaskContext,
  act: Act,
  given: Readonly<{ slots: readonly TaskSlot[]; leases: readonly Lease[]; pci: readonly PciFunction[] }>,
): Promise<Pick<Output, 'findings' | 'rebound'>> => {
  const findings: Finding[] = [];
  const rebound: string[] = [];
  for (const slot of given.slots) {
    const holder = given.leases.find((lease) => lease.slots.some((each) => each.slot_id === slot.slot_id));
    if (holder !== undefined) {
      findings.push({ slot_id: slot.slot_id, message: `not rebound: allocation ${holder.allocation_id} holds it` });
      continue;
    }
    for (const address of devicesOf(slot)) {
      const found = given.pci.find((each) => each.address === address);
      if (found === undefined) findings.push({ slot_id: slot.slot_id, message: `${address} is not on the host` });
      else if (found.driver !== 'vfio-pci') {
        await act(`binding ${address}`, ctx.host.pci.bind(address, 'vfio-pci'));
        rebound.push(address);
      }
    }
  }
  return { findings, rebound };
};
