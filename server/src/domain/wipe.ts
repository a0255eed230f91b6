/**
 * When a wipe counts as proven. A host that says "done" proves nothing: for every disk that the allocation could write
 * to there must be evidence that names this disk and this generation, was read back, and found nothing left; and the
 * network must be detached. Whatever is missing makes the whole wipe unproven.
 */
export type WipeTarget = Readonly<{
  /** Null for a data disk of the node that belongs to no slot. */
  slot_id: string | null;
  serial: string | null;
  generation: number | null;
  /** The GPU beside it, whose memory must be cleared too; null where there is none. */
  gpu_pci_address: string | null;
}>;

export type DiskEvidence = Readonly<Record<string, unknown>>;

export type DiskVerdict = Readonly<{
  target: WipeTarget;
  /** Why it is not proven; null when it is. */
  reason: string | null;
  method: string;
  evidence: DiskEvidence;
  /**
   * Whether the GPU was shown to be reset. Until it is, its memory holds what the tenant left there: the disk may be
   * proven and the slot still not be fit for the next one.
   */
  is_gpu_reset: boolean;
}>;

export type WipeVerdict = Readonly<{ is_verified: boolean; reason: string | null; disks: readonly DiskVerdict[] }>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const gapOf = (target: WipeTarget, found: DiskEvidence): string | null => {
  if (target.serial === null) return 'The disk has no serial number on record.';
  if (found['serial'] === undefined) return 'The host reported nothing about this disk.';
  if (found['generation'] !== target.generation) return 'The evidence belongs to another generation of the slot.';
  if (typeof found['method'] !== 'string' || found['method'] === '') return 'The evidence names no method.';
  if (!isCount(found['bytes_read_back']) || found['bytes_read_back'] === 0) return 'Nothing was read back.';
  if (found['bytes_not_erased'] !== 0) return 'Data was found when the disk was read back.';
  if (found['is_verified'] !== true) return 'The host did not verify the wipe.';
  if (typeof found['finished_at'] !== 'string' || Number.isNaN(Date.parse(found['finished_at'])))
    return 'The evidence does not say when it was made.';
  return null;
};

export const judgeWipe = (output: unknown, targets: readonly WipeTarget[]): WipeVerdict => {
  const told = isObject(output) ? output : {};
  const reports = (Array.isArray(told['disks']) ? told['disks'] : []).filter(isObject);
  const resets = (Array.isArray(told['gpu_resets']) ? told['gpu_resets'] : []).filter(isObject);
  const isReset = (address: string | null): boolean =>
    address === null || resets.some((reset) => reset['gpu_pci_address'] === address && reset['is_ok'] === true);
  const disks = targets.map((target): DiskVerdict => {
    const evidence =
      reports.find((report) => report['serial'] === target.serial && (report['slot_id'] ?? null) === target.slot_id) ??
      {};
    const method = typeof evidence['method'] === 'string' && evidence['method'] !== '' ? evidence['method'] : 'none';
    const is_gpu_reset = isReset(target.gpu_pci_address);
    return { target, reason: gapOf(target, evidence), method, evidence, is_gpu_reset };
  });
  const gap = disks.find((disk) => disk.reason !== null)?.reason ?? null;
  const reason =
    targets.length === 0
      ? 'No disk is on record, so nothing can be erased.'
      : told['network_detached'] !== true
        ? 'The network was not shown to be detached.'
        : gap;
  return { is_verified: reason === null, reason, disks };
};
