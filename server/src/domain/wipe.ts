/**
 * When a wipe counts as proven. A host that reports "done" proves nothing. Every disk that the allocation could write
 * to needs evidence that names this disk, its approved size and this generation, used a method that meets the wipe
 * level of the region, was read back as far as the contract demands after the wipe was requested, and found nothing left.
 * The network must be detached, and everything the host checked afterwards must be gone. Anything missing makes the
 * whole wipe unproven.
 * Results of another shape have failed before they come here.
 */
import {
  CLOCK_SKEW_MAX_MS,
  type DiskEvidence,
  type Isolation,
  meetsLevel,
  readBackGap,
  type TaskOutput,
  type WipeLevel,
  wipeLevelOf,
} from '@gpuaas/contract/node';

export type CleanupOutput = TaskOutput<'slice.cleanup'>;
type GpuReset = CleanupOutput['gpu_resets'][number];
type FabricFunction = Isolation['fabric_functions'][number];

export type WipeTarget = Readonly<{
  /** Null for a data disk of the node that belongs to no slot. */
  slot_id: string | null;
  serial: string | null;
  generation: number | null;
  /** As approved with the slot or the data disk; without it nothing is proven. How much must be read back depends on it. */
  size_bytes: number | null;
  /** The GPU of the slot, whose memory must be cleared too; null if there is none. */
  gpu_pci_address: string | null;
  /** The fabric function of the slot, which must be reset as well; null if there is none. */
  fabric_vf_pci_address?: string | null;
}>;

/** As stored with the proof. A disk that the host did not report has no evidence. */
export type WipeEvidence = Readonly<
  Partial<DiskEvidence> & {
    gpu_reset?: GpuReset;
    fabric_function?: FabricFunction;
    isolation?: Omit<Isolation, 'fabric_functions'>;
    wipe_minimum: WipeLevel;
  }
>;

export type DiskVerdict = Readonly<{
  target: WipeTarget;
  /** Why it is not proven; null when it is. */
  reason: string | null;
  method: string;
  /** Evidence for the disk, for the GPU and function of its slot, and for what else was removed. */
  evidence: WipeEvidence;
  /**
   * Whether the GPU and the fabric function were reset. Until then they may hold tenant data: the disk may be proven and
   * the slot still not available.
   */
  is_gpu_reset: boolean;
}>;

export type WipeVerdict = Readonly<{ is_verified: boolean; reason: string | null; disks: readonly DiskVerdict[] }>;

/** What the region demands of a wipe, and when it was requested. */
export type WipeRequest = Readonly<{ minimum: WipeLevel; created_at: string }>;

/** The read-back of the disk. */
const readBackFault = (target: WipeTarget, found: DiskEvidence): string | null => {
  const { bytes_read_back, bytes_not_erased, samples, signatures_left, size_bytes } = found;
  if (bytes_read_back === 0) return 'The disk was not read back.';
  if (bytes_not_erased > 0) return 'The disk read-back found data.';
  if (signatures_left.length > 0) return `The disk read-back found signatures: ${signatures_left.join(', ')}.`;
  // Random content counts as data after any other method.
  if (found.rule === 'changed' && found.erase !== 'crypto')
    return 'The read-back found random data, which proves a wipe only after a cryptographic erase.';
  if (size_bytes !== target.size_bytes)
    return `The disk was approved with ${target.size_bytes} bytes and the wipe result states ${size_bytes}.`;
  if (samples.reduce((sum, { length }) => sum + length, 0) !== bytes_read_back)
    return 'The wipe result does not list every region that was read back.';
  return readBackGap(size_bytes, samples);
};

const gapOf = (
  target: WipeTarget,
  [found, ...more]: readonly DiskEvidence[],
  blocked: CleanupOutput['blocked'][number] | undefined,
  { minimum, created_at }: WipeRequest,
): string | null => {
  if (target.serial === null) return 'The disk has no recorded serial number.';
  if (target.size_bytes === null)
    return target.slot_id === null
      ? 'The size of the disk was not recorded when the disk was approved. Approve the disk again.'
      : 'The slot has no approved disk size.';
  if (blocked !== undefined) return `The agent could not wipe the disk: ${blocked.reason}.`;
  if (found === undefined) return 'The agent did not report this disk.';
  if (more.length > 0) return 'The agent reported this disk more than once.';
  if (found.generation !== target.generation) return 'The wipe result belongs to another generation of the slot.';
  if (!meetsLevel(wipeLevelOf(found.method), minimum))
    return `The region requires at least wipe level ${minimum}, which ${found.method || 'no method'} does not reach.`;
  if ((found.method === 'blkdiscard') !== (found.erase === 'discard'))
    return `The wipe result states erase ${found.erase}, which ${found.method} does not do.`;
  // The times are those of the host.
  if (!(Date.parse(found.finished_at) >= Date.parse(created_at) - CLOCK_SKEW_MAX_MS))
    return 'The disk was read back before this wipe was requested.';
  if (found.command_status !== 0) return `The wipe command failed with status ${found.command_status}.`;
  return readBackFault(target, found) ?? (found.is_verified ? null : 'The agent did not verify the wipe.');
};

const MUST_BE_GONE = [
  ['is_vm_removed', 'The definition of the VM is still on the host.'],
  ['is_seed_removed', 'The seed of the VM is still on the host.'],
] as const;
const MUST_BE_OFF = [
  ['is_port_removed', 'The port of the VM is still on the switch.'],
  ['is_reservation_removed', 'The address of the VM is still reserved.'],
  ['is_lease_removed', 'The DHCP lease of the VM still exists.'],
  ['is_translation_removed', 'The address translation of the VM still exists.'],
] as const;

/** What the host reports as remaining. */
const leftOf = (isolation: Isolation): string | null =>
  MUST_BE_GONE.find(([name]) => !isolation[name])?.[1] ??
  MUST_BE_OFF.find(([name]) => !isolation.network[name])?.[1] ??
  (isolation.partitions.every((one) => one.is_deactivated)
    ? null
    : 'The agent did not prove that the fabric partition of the VM is inactive.');

/** Fabric functions are stored with the disk of their slot. */
const sharedOf = ({ fabric_functions: _, ...shared }: Isolation): Omit<Isolation, 'fabric_functions'> => shared;

/** Null if the host returned no output. */
export const judgeWipe = (
  output: CleanupOutput | null,
  targets: readonly WipeTarget[],
  request: WipeRequest,
): WipeVerdict => {
  const resetOf = (address: string | null): GpuReset | undefined => {
    const own = (output?.gpu_resets ?? []).filter((reset) => reset.gpu_pci_address === address);
    return own.find((reset) => reset.is_ok) ?? own[0];
  };
  const functionOf = (address: string | null | undefined): FabricFunction | undefined =>
    output?.isolation.fabric_functions.find((one) => one.fabric_vf_pci_address === address);
  const disks = targets.map((target): DiskVerdict => {
    const reported = (output?.disks ?? []).filter(
      (disk) => disk.serial === target.serial && disk.slot_id === target.slot_id,
    );
    const [found] = reported;
    const blocked = output?.blocked.find((one) => one.serial === target.serial);
    const gpu_reset = resetOf(target.gpu_pci_address);
    const fabric_function = functionOf(target.fabric_vf_pci_address);
    return {
      target,
      reason: gapOf(target, reported, blocked, request),
      method: found?.method || 'none',
      evidence: {
        ...found,
        ...(gpu_reset === undefined ? {} : { gpu_reset }),
        ...(fabric_function === undefined ? {} : { fabric_function }),
        ...(output === null ? {} : { isolation: sharedOf(output.isolation) }),
        wipe_minimum: request.minimum,
      },
      is_gpu_reset:
        (target.gpu_pci_address === null || gpu_reset?.is_ok === true) &&
        ((target.fabric_vf_pci_address ?? null) === null || fabric_function?.is_cleared === true),
    };
  });
  const gap = disks.find((disk) => disk.reason !== null)?.reason ?? null;
  const reason =
    targets.length === 0
      ? 'The slot has no recorded disk, so nothing can be wiped.'
      : output?.network_detached !== true
        ? 'The agent did not prove that the network is detached.'
        : (gap ?? leftOf(output.isolation));
  return { is_verified: reason === null, reason, disks };
};
