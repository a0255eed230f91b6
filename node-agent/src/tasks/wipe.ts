/**
 * The wipe of one disk and its evidence. A successful command proves nothing: only what the disk returns afterwards
 * counts. A disk that must not be wiped, or cannot be wiped as its method and the site's minimum demand, has a reason
 * instead of evidence; there is no silent fallback to a weaker method.
 */
import {
  type DiskEvidence,
  type DiskFacts,
  meetsLevel,
  WIPE_METHODS,
  type WipeLevel,
  type WipeMethod,
  wipeLevelOf,
} from '@gpuaas/contract/node';
import { type EraseKind, eraseKindOf, isBelow } from '../host/erase.ts';
import { HostError, type OpenDisk } from '../host/host.ts';
import { inUse } from './bundle-slot.ts';
import { isWhole, readBack, readBefore } from './read-back.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

export type WipeTarget = Readonly<{
  serial: string;
  device: string;
  /** The approved method of the slot; null: the strongest that the disk supports. */
  policy: WipeMethod | null;
  slot: Readonly<{ slot_id: string; generation: number }> | null;
}>;
/** The region requires a level; the host itself may require a method. Both must be met. */
export type WipeMinimum = Readonly<{ level: WipeLevel; method: WipeMethod }>;
export type Wiped = Readonly<{ evidence: DiskEvidence } | { blocked: string }>;

export const wipeDisk = async (
  ctx: TaskContext,
  act: Act,
  target: WipeTarget,
  level: WipeLevel = 'clear',
): Promise<Wiped> => {
  const disks = await act('listing the disks', ctx.host.disks.list());
  const chosen = chooseMethod(disks, target, { level, method: ctx.host.wipe_minimum ?? 'blkdiscard' });
  if ('blocked' in chosen) return chosen;
  try {
    const identity = { serial: target.serial, device: target.device };
    const disk = await act(`opening disk ${target.serial}`, ctx.host.disks.open(identity));
    try {
      return { evidence: await wipeAndProve(ctx, act, target, disk, chosen) };
    } finally {
      await act(`closing disk ${target.serial}`, disk.close());
    }
  } catch (err) {
    // A timeout is the end of the task, not a property of the disk.
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    return { blocked: err.message };
  }
};

type Chosen = Readonly<{ method: WipeMethod; kind: EraseKind; can_discard: boolean }>;

const wipeAndProve = async (
  ctx: TaskContext,
  act: Act,
  target: WipeTarget,
  disk: OpenDisk,
  { method, kind, can_discard }: Chosen,
): Promise<DiskEvidence> => {
  const startedAt = ctx.now().toISOString();
  await act(`an earlier wipe of disk ${target.serial}`, disk.settled?.() ?? Promise.resolve());
  const before = kind === 'crypto' ? await act(`reading disk ${target.serial}`, readBefore(disk)) : undefined;
  const { command_status } = await act(`the wipe of disk ${target.serial}`, disk.wipe(method));
  const { is_zero: _, ...found } = await act(`reading back disk ${target.serial}`, readBack(disk, before));
  const isVerified =
    command_status === 0 &&
    isWhole(found, disk.size_bytes) &&
    found.bytes_not_erased === 0 &&
    found.signatures_left.length === 0;
  if (!isVerified)
    ctx.log.error(
      { serial: target.serial, method, command_status, ...found, samples: undefined },
      'wipe is not verified',
    );
  const level = wipeLevelOf(method);
  const evidence = {
    slot_id: target.slot?.slot_id ?? null,
    serial: target.serial,
    major_minor: disk.major_minor,
    size_bytes: disk.size_bytes,
    generation: target.slot?.generation ?? null,
    attempt: ctx.attempt,
    method,
    ...(level === null ? {} : { level }),
    erase: kind,
    command_status,
    ...found,
    is_verified: isVerified,
    started_at: startedAt,
    finished_at: ctx.now().toISOString(),
  };
  if (isVerified && found.rule === 'changed' && can_discard) await discardRandom(ctx, act, disk);
  return evidence;
};

/** The next VM gets a blank disk. The wipe is already proven, so a disk that does not discard does no harm. */
const discardRandom = async (ctx: TaskContext, act: Act, disk: OpenDisk): Promise<void> => {
  try {
    await act(`the discard of disk ${disk.serial}`, disk.wipe('blkdiscard'));
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    ctx.log.warn({ serial: disk.serial, err }, 'failed to discard a wiped disk');
  }
};

const chooseMethod = (
  disks: readonly DiskFacts[],
  target: WipeTarget,
  minimum: WipeMinimum,
): Chosen | Readonly<{ blocked: string }> => {
  const found = disks.filter((disk) => disk.serial === target.serial);
  const [disk] = found;
  if (disk === undefined) return { blocked: `disk ${target.serial} is not on the host` };
  if (found.length > 1) return { blocked: `${found.length} disks report the serial ${target.serial}` };
  const uses = inUse(disk);
  if (uses.length > 0) return { blocked: `${uses.join(', ')}; free it: the agent never unmounts` };
  if ('unreadable' in disk.erase)
    return { blocked: `the wipe methods of the disk are unreadable: ${disk.erase.unreadable}` };
  const can = disk.erase.value;
  const offered = WIPE_METHODS.filter((method) => eraseKindOf(method, can) !== null);
  if (offered.length === 0)
    return { blocked: 'no_erase_method: the disk supports neither sanitize, format nor discard' };
  const isEnough = (method: WipeMethod): boolean =>
    !isBelow(method, minimum.method) && meetsLevel(wipeLevelOf(method), minimum.level);
  // The approved method of the slot is kept, unless the site requires more.
  const policy = target.policy !== null && isEnough(target.policy) ? target.policy : null;
  const method = policy ?? offered.find(isEnough);
  if (method === undefined) {
    const asked = isBelow('blkdiscard', minimum.method) ? minimum.method : minimum.level;
    return {
      blocked: `the site requires at least ${asked}, but the disk supports ${offered.join(', ')}; replace the disk or lower the minimum`,
    };
  }
  const kind = eraseKindOf(method, can);
  if (kind === null) return { blocked: `the wipe method is ${method}, but the disk supports ${offered.join(', ')}` };
  return { method, kind, can_discard: can.discard };
};
