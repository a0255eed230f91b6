/**
 * Compares the inventory of a host with its claims. A managed VM without a claim is an orphan; a VM without our tag is
 * unmanaged. Both are reported and not changed, and slots whose devices they use need a wipe proof before they become
 * schedulable. A VM that should run but does not is reported with its cause; `afterDown` decides about a restart. A
 * running VM that has a fabric function, in a region that does not isolate tenants, is reported: another tenant may reach it.
 *
 * On a claimed whole node the tenant decides what runs. An allocation with work in progress, or until a moment ago, is
 * skipped: a report is always slightly out of date.
 */
import type { HostDrift, HostVm, Inventory } from '@gpuaas/contract/node';

export type Holding = Readonly<{
  allocation_id: string;
  claim_kind: 'slot' | 'node_exclusive';
  state: string;
  power_state: string | null;
  /** It is on as far as known, or it was found down and the automatic restart just failed. */
  should_run: boolean;
  /** No work on it now or a moment ago. */
  is_idle: boolean;
}>;

export type SlotDevices = Readonly<{
  id: string;
  slot_index: number;
  status: string;
  gpu_pci_address: string | null;
  nvme_serial: string | null;
  fabric_vf_pci_address: string | null;
}>;

export type Finding = Readonly<{
  code: string;
  allocation_id: string | null;
  vm: string | null;
  slot_ids: readonly string[];
  message: string;
}>;

export type VmDown = Readonly<{ allocation_id: string; cause: 'guest' | 'host' | 'crash' | 'missing' | 'unknown' }>;

export type InventoryVerdict = Readonly<{
  findings: readonly Finding[];
  /** Available slots whose devices an unclaimed VM uses. */
  quarantine: ReadonlyArray<Readonly<{ slot_id: string; reason: string }>>;
  /** VMs that should run but do not. */
  down: readonly VmDown[];
  /** Allocations in the report without a claim on this node. */
  unclaimed: readonly string[];
}>;

/** Codes that the control plane itself decides for every VM and claim. */
const SERVER_CODES = ['unknown_vm', 'vm_without_lease', 'vm_missing', 'vm_off', 'vm_running_unexpectedly'];

const usedSlots = ({ devices }: HostVm, slots: readonly SlotDevices[]): readonly SlotDevices[] =>
  slots.filter((slot) =>
    [slot.gpu_pci_address, slot.nvme_serial, slot.fabric_vf_pci_address].some(
      (device) => device !== null && devices.includes(device),
    ),
  );

const list = (slots: readonly SlotDevices[]): string => slots.map(({ slot_index }) => slot_index).join(', ');

const unclaimedVm = (vm: HostVm, holdings: readonly Holding[]): Readonly<{ code: string; message: string }> | null => {
  const { name, allocation_id, is_managed, state } = vm;
  if (!is_managed)
    return {
      code: 'unknown_vm',
      message:
        allocation_id === null
          ? `VM ${name} (${state}) is not managed by GPUaaS. It was not changed.`
          : `VM ${name} (${state}) has the tag of ${allocation_id} under another name. It was not changed.`,
    };
  if (holdings.some((one) => one.allocation_id === allocation_id)) return null;
  return { code: 'orphan_vm', message: `VM ${name} (${state}) is managed by GPUaaS but has no claim on this node.` };
};

const judgeUnclaimedVms = (vms: readonly HostVm[], holdings: readonly Holding[], slots: readonly SlotDevices[]) =>
  vms.flatMap((vm) => {
    const unclaimed = unclaimedVm(vm, holdings);
    if (unclaimed === null) return [];
    const used = usedSlots(vm, slots);
    const message =
      used.length === 0
        ? unclaimed.message
        : `${unclaimed.message} It uses devices of ${used.length === 1 ? 'slot' : 'slots'} ${list(used)}.`;
    return [
      {
        finding: {
          code: unclaimed.code,
          allocation_id: vm.is_managed ? vm.allocation_id : null,
          vm: vm.name,
          slot_ids: used.map(({ id }) => id),
          message,
        },
        quarantine: used
          .filter(({ status }) => status === 'available')
          .map(({ id }) => ({
            slot_id: id,
            reason: `VM ${vm.name} has no claim but uses the devices of this slot. Remove the VM, then repair the slot.`,
          })),
      },
    ];
  });

/** Of one that an agent of an earlier release started, or that was started by hand. */
const judgeFabric = (vm: HostVm, slots: readonly SlotDevices[]): readonly Finding[] => {
  const used = slots.filter(({ fabric_vf_pci_address: address }) => address !== null && vm.devices.includes(address));
  if (used.length === 0 || vm.state === 'shut_off' || vm.state === 'crashed') return [];
  return [
    {
      code: 'fabric_not_isolated',
      allocation_id: vm.is_managed ? vm.allocation_id : null,
      vm: vm.name,
      slot_ids: used.map(({ id }) => id),
      message: `VM ${vm.name} has the fabric function of ${used.length === 1 ? 'slot' : 'slots'} ${list(used)}, but its region does not isolate tenants on the fabric: they can reach each other.`,
    },
  ];
};

const DOWN_CAUSES: Readonly<Record<VmDown['cause'], string>> = {
  guest: 'was shut down by the guest OS',
  host: 'was powered off on the host',
  crash: 'has crashed',
  missing: 'is not on the host',
  unknown: 'is off',
};

type HoldingFinding = Readonly<{ finding: Finding; down?: VmDown }>;

const judgeHolding = (holding: Holding, { vms, leases }: Inventory): readonly HoldingFinding[] => {
  const { allocation_id, power_state, should_run } = holding;
  const vm = vms.find((one) => one.is_managed && one.allocation_id === allocation_id);
  const findingOf = (code: string, message: string): HoldingFinding => ({
    finding: { code, allocation_id, vm: vm?.name ?? null, slot_ids: [], message },
  });
  const found: HoldingFinding[] = [];
  if (!leases.some((lease) => lease.allocation_id === allocation_id))
    found.push(
      findingOf(
        'lease_missing',
        `The host has no bundle lease for active allocation ${allocation_id}: its record was lost.`,
      ),
    );
  if (power_state === 'off' && !should_run && vm?.state === 'running')
    found.push(findingOf('vm_running_unexpectedly', `The VM of ${allocation_id} is running but should be off.`));
  if (!should_run || vm?.state === 'running') return found;
  if (vm?.state === 'paused')
    return [...found, findingOf('vm_paused', `The VM of ${allocation_id} was paused on the host.`)];
  const cause = vm === undefined ? 'missing' : (vm.ended_by ?? 'unknown');
  const finding = findingOf(
    vm === undefined ? 'vm_missing' : 'vm_off',
    `The VM of ${allocation_id} should be running but ${DOWN_CAUSES[cause]}.`,
  );
  return [...found, { ...finding, down: { allocation_id, cause } }];
};

const findingsOfHost = (drift: readonly HostDrift[], holdings: readonly Holding[]): readonly Finding[] =>
  drift.flatMap(({ code, allocation_id, slot_id, message }) => {
    const holding = holdings.find((one) => one.allocation_id === allocation_id);
    const isPassing = holding !== undefined && (holding.state !== 'active' || !holding.is_idle);
    if (SERVER_CODES.includes(code) || isPassing) return [];
    return [{ code, allocation_id, vm: null, slot_ids: slot_id === null ? [] : [slot_id], message }];
  });

export const judgeInventory = (
  given: Readonly<{
    inventory: Inventory;
    holdings: readonly Holding[];
    slots: readonly SlotDevices[];
    /** Whether the fabric provider of the region isolates tenants. */
    isolates_fabric: boolean;
  }>,
): InventoryVerdict => {
  const { inventory, holdings, slots, isolates_fabric } = given;
  const held = new Set(holdings.map(({ allocation_id }) => allocation_id));
  const named = [
    ...inventory.vms.flatMap(({ is_managed, allocation_id }) => (is_managed ? (allocation_id ?? []) : [])),
    ...inventory.leases.map(({ allocation_id }) => allocation_id),
    ...inventory.leftovers,
  ];
  const unclaimed = [...new Set(named)].filter((id) => !held.has(id));
  if (holdings.some(({ claim_kind }) => claim_kind === 'node_exclusive'))
    return { findings: [], quarantine: [], down: [], unclaimed };
  const unclaimedVms = judgeUnclaimedVms(inventory.vms, holdings, slots);
  const judged = holdings
    .filter(({ state, is_idle }) => state === 'active' && is_idle)
    .flatMap((holding) => judgeHolding(holding, inventory));
  const unclaimedLeases = inventory.leases
    .filter((lease) => lease.is_used && !held.has(lease.allocation_id))
    .map(({ allocation_id, slot_ids }) => ({
      code: 'lease_without_claim',
      allocation_id,
      vm: null,
      slot_ids: [...slot_ids],
      message: `The host has a bundle lease for ${allocation_id}, which has no claim on this node. An operator can end the lease.`,
    }));
  return {
    findings: [
      ...unclaimedVms.map(({ finding }) => finding),
      ...(isolates_fabric ? [] : inventory.vms.flatMap((vm) => judgeFabric(vm, slots))),
      ...judged.map(({ finding }) => finding),
      ...unclaimedLeases,
      ...findingsOfHost(inventory.drift, holdings),
    ],
    quarantine: unclaimedVms.flatMap(({ quarantine }) => quarantine),
    down: judged.flatMap(({ down }) => down ?? []),
    unclaimed,
  };
};

const keyOf = ({ code, allocation_id, vm, slot_ids }: Finding): string =>
  JSON.stringify([code, allocation_id, vm, slot_ids]);

/** Adds since when each finding exists: a known finding keeps its time. */
export const datedFindings = <T extends Finding & Readonly<{ since: string }>>(
  findings: readonly Finding[],
  before: readonly T[],
  now: string,
): ReadonlyArray<Finding & Readonly<{ since: string }>> => {
  const known = new Map(before.map((finding) => [keyOf(finding), finding.since]));
  return findings.map((finding) => ({ ...finding, since: known.get(keyOf(finding)) ?? now }));
};

/** Automatic restarts of a VM within an hour. */
export const STARTS_MAX = 3;

/**
 * What to do about a VM that is down without a power change. A shutdown by the guest OS is intended, so the VM stays
 * off. After a crash, a host failure or a stop on the host it is restarted, but not forever: repeated failures have a
 * cause that a person must find.
 */
export const afterDown = (
  { cause }: Pick<VmDown, 'cause'>,
  recentStarts: number,
): Readonly<{ act: 'start' | 'leave_off'; reason: string }> => {
  if (cause === 'guest') return { act: 'leave_off', reason: 'The VM was shut down by the guest OS.' };
  if (recentStarts >= STARTS_MAX)
    return {
      act: 'leave_off',
      reason: `The control plane restarted the VM ${STARTS_MAX} times within an hour, but it is down again. It stays off.`,
    };
  return { act: 'start', reason: `The VM ${DOWN_CAUSES[cause]} and is being restarted.` };
};
