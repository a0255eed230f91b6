/**
 * What a host has beside what is claimed there. A machine with our tag that no claim holds is an orphan; one without our tag
 * is somebody else's. Both are told and left alone, and slots whose devices they have are not sold before they were erased
 * with proof. A machine that should run and does not is told, too, with why; whether it is started again is the next rule's.
 *
 * A whole node that is claimed is its tenant's: what runs on it is their own. What is under way on an allocation, or was a
 * moment ago, is not judged: a report is always a little older than what is known.
 */
import type { HostDrift, HostVm, Inventory } from '@gpuaas/contract/node';

export type Holding = Readonly<{
  allocation_id: string;
  claim_kind: 'slot' | 'node_exclusive';
  state: string;
  power_state: string | null;
  /** It is on as far as is known, or was found down and the platform's own start of it failed just now. */
  is_to_run: boolean;
  /** Nothing is being done to it, nor was a moment ago. */
  is_quiet: boolean;
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

export type Down = Readonly<{ allocation_id: string; cause: 'guest' | 'host' | 'crash' | 'missing' | 'unknown' }>;

export type InventoryVerdict = Readonly<{
  findings: readonly Finding[];
  /** Slots that are for sale and whose devices a machine has that nobody claims. */
  quarantine: ReadonlyArray<Readonly<{ slot_id: string; reason: string }>>;
  /** Machines that are to run and do not. */
  down: readonly Down[];
  /** Allocations that were named and hold nothing here. */
  unclaimed: readonly string[];
}>;

/** The platform says these itself, of every machine and claim. */
const JUDGED_HERE = ['unknown_vm', 'vm_without_lease', 'vm_missing', 'vm_off', 'vm_running_unexpectedly'];

const usedSlots = ({ devices }: HostVm, slots: readonly SlotDevices[]): readonly SlotDevices[] =>
  slots.filter((slot) =>
    [slot.gpu_pci_address, slot.nvme_serial, slot.fabric_vf_pci_address].some(
      (device) => device !== null && devices.includes(device),
    ),
  );

const list = (slots: readonly SlotDevices[]): string => slots.map(({ slot_index }) => slot_index).join(', ');

const strangerIn = (
  machine: HostVm,
  holdings: readonly Holding[],
): Readonly<{ code: string; message: string }> | null => {
  const { name, allocation_id, is_managed, state } = machine;
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

const judgeStrangers = (vms: readonly HostVm[], holdings: readonly Holding[], slots: readonly SlotDevices[]) =>
  vms.flatMap((machine) => {
    const stranger = strangerIn(machine, holdings);
    if (stranger === null) return [];
    const used = usedSlots(machine, slots);
    const message =
      used.length === 0 ? stranger.message : `${stranger.message} It uses devices of slots ${list(used)}.`;
    return [
      {
        finding: {
          code: stranger.code,
          allocation_id: machine.is_managed ? machine.allocation_id : null,
          vm: machine.name,
          slot_ids: used.map(({ id }) => id),
          message,
        },
        quarantine: used
          .filter(({ status }) => status === 'available')
          .map(({ id }) => ({
            slot_id: id,
            reason: `VM ${machine.name} has no claim but uses the devices of this slot. Remove the VM, then repair the slot.`,
          })),
      },
    ];
  });

const DOWN_WORDS: Readonly<Record<Down['cause'], string>> = {
  guest: 'was shut down by the guest OS',
  host: 'was powered off on the host',
  crash: 'has crashed',
  missing: 'is not on the host',
  unknown: 'is off',
};

type Judged = Readonly<{ finding: Finding; down?: Down }>;

const judgeHolding = (holding: Holding, { vms, leases }: Inventory): readonly Judged[] => {
  const { allocation_id, power_state, is_to_run } = holding;
  const machine = vms.find((one) => one.is_managed && one.allocation_id === allocation_id);
  const tell = (code: string, message: string): Judged => ({
    finding: { code, allocation_id, vm: machine?.name ?? null, slot_ids: [], message },
  });
  const found: Judged[] = [];
  if (!leases.some((lease) => lease.allocation_id === allocation_id))
    found.push(
      tell(
        'lease_missing',
        `The host has no bundle lease for active allocation ${allocation_id}: its record was lost.`,
      ),
    );
  if (power_state === 'off' && !is_to_run && machine?.state === 'running')
    found.push(tell('vm_running_unexpectedly', `The VM of ${allocation_id} is running but should be off.`));
  if (!is_to_run || machine?.state === 'running') return found;
  if (machine?.state === 'paused')
    return [...found, tell('vm_paused', `The VM of ${allocation_id} was paused on the host.`)];
  const cause = machine === undefined ? 'missing' : (machine.ended_by ?? 'unknown');
  const told = tell(
    machine === undefined ? 'vm_missing' : 'vm_off',
    `The VM of ${allocation_id} should be running but ${DOWN_WORDS[cause]}.`,
  );
  return [...found, { ...told, down: { allocation_id, cause } }];
};

const toldByHost = (drift: readonly HostDrift[], holdings: readonly Holding[]): readonly Finding[] =>
  drift.flatMap(({ code, allocation_id, slot_id, message }) => {
    const holding = holdings.find((one) => one.allocation_id === allocation_id);
    const isPassing = holding !== undefined && (holding.state !== 'active' || !holding.is_quiet);
    if (JUDGED_HERE.includes(code) || isPassing) return [];
    return [{ code, allocation_id, vm: null, slot_ids: slot_id === null ? [] : [slot_id], message }];
  });

export const judgeInventory = (
  given: Readonly<{ inventory: Inventory; holdings: readonly Holding[]; slots: readonly SlotDevices[] }>,
): InventoryVerdict => {
  const { inventory, holdings, slots } = given;
  const held = new Set(holdings.map(({ allocation_id }) => allocation_id));
  const named = [
    ...inventory.vms.flatMap(({ is_managed, allocation_id }) => (is_managed ? (allocation_id ?? []) : [])),
    ...inventory.leases.map(({ allocation_id }) => allocation_id),
    ...inventory.leftovers,
  ];
  const unclaimed = [...new Set(named)].filter((id) => !held.has(id));
  if (holdings.some(({ claim_kind }) => claim_kind === 'node_exclusive'))
    return { findings: [], quarantine: [], down: [], unclaimed };
  const strangers = judgeStrangers(inventory.vms, holdings, slots);
  const judged = holdings
    .filter(({ state, is_quiet }) => state === 'active' && is_quiet)
    .flatMap((holding) => judgeHolding(holding, inventory));
  const stray = inventory.leases
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
      ...strangers.map(({ finding }) => finding),
      ...judged.map(({ finding }) => finding),
      ...stray,
      ...toldByHost(inventory.drift, holdings),
    ],
    quarantine: strangers.flatMap(({ quarantine }) => quarantine),
    down: judged.flatMap(({ down }) => down ?? []),
    unclaimed,
  };
};

const keyOf = ({ code, allocation_id, vm, slot_ids }: Finding): string =>
  JSON.stringify([code, allocation_id, vm, slot_ids]);

/** Since when each stands: a finding that was there before is as old as it was. */
export const datedFindings = <T extends Finding & Readonly<{ since: string }>>(
  findings: readonly Finding[],
  before: readonly T[],
  now: string,
): ReadonlyArray<Finding & Readonly<{ since: string }>> => {
  const known = new Map(before.map((finding) => [keyOf(finding), finding.since]));
  return findings.map((finding) => ({ ...finding, since: known.get(keyOf(finding)) ?? now }));
};

/** So often is a machine that ended by itself started again within an hour. */
export const STARTS_MAX = 3;

/**
 * What follows for a machine that is down though nobody switched it off. Whoever shut it down from inside meant it, as on any
 * machine. One that ended with its host, crashed or was taken away is started again, as after a power failure, but not for
 * ever: what ends again and again has a cause that a person must find.
 */
export const afterDown = (
  { cause }: Pick<Down, 'cause'>,
  startsLately: number,
): Readonly<{ act: 'start' | 'leave_off'; reason: string }> => {
  if (cause === 'guest') return { act: 'leave_off', reason: 'The VM was shut down by the guest OS.' };
  if (startsLately >= STARTS_MAX)
    return {
      act: 'leave_off',
      reason: `The control plane restarted the VM ${STARTS_MAX} times within an hour, but it is down again. It stays off.`,
    };
  return { act: 'start', reason: `The VM ${DOWN_WORDS[cause]} and is being restarted.` };
};
