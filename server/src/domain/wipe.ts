/**
 * When a wipe counts as proven. A host that says "done" proves nothing: for every disk that the allocation could write
 * to there must be evidence that names this disk and this generation, was made by a method that reaches as far as the
 * region demands, was read back, and found nothing left; the network must be detached, and what the host says it looked
 * for afterwards must be gone. Whatever is missing makes the whole wipe unproven.
 */
import { meetsLevel, type WipeLevel, wipeLevelOf } from '@gpuaas/contract/node';

export type WipeTarget = Readonly<{
  /** Null for a data disk of the node that belongs to no slot. */
  slot_id: string | null;
  serial: string | null;
  generation: number | null;
  /** The GPU beside it, whose memory must be cleared too; null where there is none. */
  gpu_pci_address: string | null;
  /** The fabric function beside it, which must be reset as well; null where there is none. */
  fabric_vf_pci_address?: string | null;
}>;

export type DiskEvidence = Readonly<Record<string, unknown>>;

export type DiskVerdict = Readonly<{
  target: WipeTarget;
  /** Why it is not proven; null when it is. */
  reason: string | null;
  method: string;
  /** What the host showed of the disk, of the GPU and function beside it, and of what else it took away. */
  evidence: DiskEvidence;
  /**
   * Whether the GPU was shown to be reset, and the fabric function beside it by every host that tells of what is left. Until
   * they are, they hold what the tenant left there: the disk may be proven and the slot still not be fit for the next one.
   */
  is_gpu_reset: boolean;
}>;

export type WipeVerdict = Readonly<{ is_verified: boolean; reason: string | null; disks: readonly DiskVerdict[] }>;

type Told = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Told =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectsOf = (value: unknown): readonly Told[] => (Array.isArray(value) ? value : []).filter(isObject);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const gapOf = (target: WipeTarget, found: DiskEvidence, blocked: Told | undefined, minimum: WipeLevel) => {
  if (target.serial === null) return 'The disk has no serial number on record.';
  if (typeof blocked?.['reason'] === 'string') return `The host could not erase it: ${blocked['reason']}.`;
  if (found['serial'] === undefined) return 'The host reported nothing about this disk.';
  if (found['generation'] !== target.generation) return 'The evidence belongs to another generation of the slot.';
  if (typeof found['method'] !== 'string' || found['method'] === '') return 'The evidence names no method.';
  if (!meetsLevel(wipeLevelOf(found['method']), minimum))
    return `The region demands at least ${minimum}, which ${found['method']} does not reach.`;
  if (!isCount(found['bytes_read_back']) || found['bytes_read_back'] === 0) return 'Nothing was read back.';
  if (found['bytes_not_erased'] !== 0) return 'Data was found when the disk was read back.';
  if (found['is_verified'] !== true) return 'The host did not verify the wipe.';
  if (typeof found['finished_at'] !== 'string' || Number.isNaN(Date.parse(found['finished_at'])))
    return 'The evidence does not say when it was made.';
  return null;
};

const MUST_BE_GONE = [
  ['is_vm_removed', 'The definition of the machine is still on the host.'],
  ['is_seed_removed', 'The seed of the machine is still on the host.'],
] as const;
const MUST_BE_OFF = [
  ['is_port_removed', 'The port of the machine is still on the switch.'],
  ['is_reservation_removed', 'The address of the machine is still reserved.'],
  ['is_lease_removed', 'The lease of the machine’s address is still there.'],
  ['is_translation_removed', 'The translation of the machine’s address is still there.'],
] as const;

/** What the host itself says is still there. A host that says nothing of it is judged by the rest. */
const leftOf = (isolation: Told): string | null => {
  const network = isObject(isolation['network']) ? isolation['network'] : {};
  return (
    MUST_BE_GONE.find(([name]) => isolation[name] === false)?.[1] ??
    MUST_BE_OFF.find(([name]) => network[name] === false)?.[1] ??
    (objectsOf(isolation['partitions']).some((one) => one['is_deactivated'] === false)
      ? 'The fabric partition of the machine was not shown to be inactive.'
      : null)
  );
};

export const judgeWipe = (
  output: unknown,
  targets: readonly WipeTarget[],
  minimum: WipeLevel = 'clear',
): WipeVerdict => {
  const told = isObject(output) ? output : {};
  const isolation = isObject(told['isolation']) ? told['isolation'] : {};
  const { fabric_functions, ...apart } = isolation;
  const resetOf = (address: string | null) => {
    const own = objectsOf(told['gpu_resets']).filter((reset) => reset['gpu_pci_address'] === address);
    return own.find((reset) => reset['is_ok'] === true) ?? own[0];
  };
  const functionOf = (address: string | null | undefined) =>
    objectsOf(fabric_functions).find((one) => one['fabric_vf_pci_address'] === address);
  /** Hosts from before there was such evidence say nothing of functions; one that gives it must not leave any out. */
  const mustClear = (address: string | null | undefined): boolean =>
    isObject(told['isolation']) && (address ?? null) !== null;
  const disks = targets.map((target): DiskVerdict => {
    const found =
      objectsOf(told['disks']).find(
        (report) => report['serial'] === target.serial && (report['slot_id'] ?? null) === target.slot_id,
      ) ?? {};
    const blocked = objectsOf(told['blocked']).find((one) => one['serial'] === target.serial);
    const method = typeof found['method'] === 'string' && found['method'] !== '' ? found['method'] : 'none';
    const gpu_reset = resetOf(target.gpu_pci_address);
    const fabric_function = functionOf(target.fabric_vf_pci_address);
    return {
      target,
      reason: gapOf(target, found, blocked, minimum),
      method,
      evidence: {
        ...found,
        ...(gpu_reset === undefined ? {} : { gpu_reset }),
        ...(fabric_function === undefined ? {} : { fabric_function }),
        ...(Object.keys(apart).length === 0 ? {} : { isolation: apart }),
        wipe_minimum: minimum,
      },
      is_gpu_reset:
        (target.gpu_pci_address === null || gpu_reset?.['is_ok'] === true) &&
        (!mustClear(target.fabric_vf_pci_address) || fabric_function?.['is_cleared'] === true),
    };
  });
  const gap = disks.find((disk) => disk.reason !== null)?.reason ?? null;
  const reason =
    targets.length === 0
      ? 'No disk is on record, so nothing can be erased.'
      : told['network_detached'] !== true
        ? 'The network was not shown to be detached.'
        : (gap ?? leftOf(isolation));
  return { is_verified: reason === null, reason, disks };
};
