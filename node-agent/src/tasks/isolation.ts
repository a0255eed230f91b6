/**
 * What remains of a VM after its cleanup, read from the host instead of derived from the steps. It is the part of the
 * evidence that a tenant sees beside the wipe of its disks.
 */
import type { Isolation, TaskSlot } from '@gpuaas/contract/node';
import { HostError, type Port } from '../host/host.ts';
import { isOffTheBus } from './bundle-slot.ts';
import { domainName, portName } from './names.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

/** A former VM, by what the host knows of it. */
export type FormerVm = Readonly<{ allocation_id: string; mac_address: string; private_ip: string }>;

export type FabricFunction = Isolation['fabric_functions'][number];

/** Reported with the evidence, so that the reset is not taken for a check of the function's identity. */
const OBSERVED = 'it was reset and responded afterwards; its MAC and GUID were not read';

/**
 * A guest OS may have set its own identity on the virtual function. The card documents that a function reset clears it;
 * verified here is only that the function was reset and is alive.
 */
const clearFunction = async (ctx: TaskContext, act: Act, address: string): Promise<FabricFunction> => {
  const failed = (reason: string, method = 'none'): FabricFunction => {
    ctx.log.error({ fabric_vf_pci_address: address, reason }, 'failed to reset a fabric function');
    return { fabric_vf_pci_address: address, method, is_cleared: false, reason };
  };
  try {
    const { method, is_ok } = await act(`the reset of ${address}`, ctx.host.pci.reset(address, [address]));
    if (!is_ok) return failed('the reset failed', method);
    const after = await act('listing PCI functions', ctx.host.pci.list());
    const found = after.find((pci) => pci.address === address);
    return found === undefined || isOffTheBus(found)
      ? failed('the function did not come back from its reset; power-cycle the host', method)
      : { fabric_vf_pci_address: address, method, is_cleared: true, observed: OBSERVED };
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    return failed(err.message);
  }
};

export const clearFunctions = async (
  ctx: TaskContext,
  act: Act,
  slots: readonly TaskSlot[],
): Promise<FabricFunction[]> => {
  const cleared: FabricFunction[] = [];
  for (const slot of slots) cleared.push(await clearFunction(ctx, act, slot.fabric_vf_pci_address));
  return cleared;
};

type Checked = Readonly<{
  former: readonly FormerVm[];
  /** Partitions that must be inactive now. */
  partition_ids: readonly number[];
  fabric_functions: Isolation['fabric_functions'];
}>;

export const checkIsolation = async (ctx: TaskContext, act: Act, looked: Checked): Promise<Isolation> => {
  const network = { port: false, reservation: false, lease: false, translation: false };
  for (const { allocation_id, ...address } of looked.former) {
    const port: Omit<Port, 'allocation_id'> = { name: portName(allocation_id), ...address };
    const left = await act(`reading port ${port.name}`, ctx.host.network.remains(port));
    network.port ||= left.port;
    network.reservation ||= left.reservation;
    network.lease ||= left.lease;
    network.translation ||= left.translation;
  }
  const names = looked.former.map(({ allocation_id }) => domainName(allocation_id));
  const { domains, leftovers } = await act('listing the VMs', ctx.host.hypervisor.inspect());
  const fabric = looked.partition_ids.length === 0 ? null : await act('reading the fabric', ctx.host.fabric.facts());
  // The switches keep a partition while Fabric Manager is down, and its state is unknown.
  const isInactive = (id: number): boolean =>
    fabric?.manager.is_running === true && !fabric.partitions.some((one) => one.partition_id === id && one.is_active);
  return {
    network: {
      is_port_removed: !network.port,
      is_reservation_removed: !network.reservation,
      is_lease_removed: !network.lease,
      is_translation_removed: !network.translation,
    },
    is_vm_removed: !domains.some(({ name }) => names.includes(name)),
    is_seed_removed: !leftovers.some((name) => names.includes(name)),
    partitions: looked.partition_ids.map((partition_id) => ({
      partition_id,
      is_deactivated: isInactive(partition_id),
    })),
    fabric_functions: looked.fabric_functions,
  };
};
