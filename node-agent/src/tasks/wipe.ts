/**
 * The wipe of one disk and its evidence. A command that says it succeeded proves nothing: what counts is what the disk
 * gives back afterwards. A disk that must not be touched, or that cannot be erased as its policy demands, has no evidence
 * but a reason; there is no quiet fallback to a weaker method.
 */
import type { DiskEvidence, DiskFacts } from '@gpuaas/contract/node';
import { HostError, type OpenDisk, type WipeMethod } from '../host/host.ts';
import { inUse } from './bundle-slot.ts';
import type { Act } from './exclusive.ts';
import { isWhole, readBack } from './read-back.ts';
import type { TaskContext } from './task.ts';

export type WipeTarget = Readonly<{
  serial: string;
  device: string;
  /** Null: the strongest that the drive offers. */
  policy: WipeMethod | null;
  slot: Readonly<{ slot_id: string; generation: number }> | null;
}>;
export type Wiped = Readonly<{ evidence: DiskEvidence } | { blocked: string }>;

export const wipeDisk = async (ctx: TaskContext, act: Act, target: WipeTarget): Promise<Wiped> => {
  const disks = await act('listing the disks', ctx.host.disks.list());
  const method = chooseMethod(disks, target);
  if ('blocked' in method) return method;
  try {
    const identity = { serial: target.serial, device: target.device };
    const disk = await act(`opening disk ${target.serial}`, ctx.host.disks.open(identity));
    try {
      return { evidence: await wipeAndProve(ctx, act, target, disk, method.method) };
    } finally {
      await act(`closing disk ${target.serial}`, disk.close());
    }
  } catch (err) {
    // Out of time is the end of the task, not a property of the disk.
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    return { blocked: err.message };
  }
};

const wipeAndProve = async (
  ctx: TaskContext,
  act: Act,
  target: WipeTarget,
  disk: OpenDisk,
  method: WipeMethod,
): Promise<DiskEvidence> => {
  const startedAt = ctx.now().toISOString();
  const { command_status } = await act(`the wipe of disk ${target.serial}`, disk.wipe(method));
  const found = await act(`reading back disk ${target.serial}`, readBack(disk));
  const isVerified =
    command_status === 0 && isWhole(found) && found.bytes_not_erased === 0 && found.signatures_left.length === 0;
  if (!isVerified)
    ctx.log.error(
      { serial: target.serial, method, command_status, ...found, samples: undefined },
      'a wipe is not proven',
    );
  return {
    slot_id: target.slot?.slot_id ?? null,
    serial: target.serial,
    generation: target.slot?.generation ?? null,
    method,
    command_status,
    ...found,
    is_verified: isVerified,
    started_at: startedAt,
    finished_at: ctx.now().toISOString(),
  };
};

/** What the drive really supports, strongest first. */
const methodsOf = (disk: DiskFacts): readonly WipeMethod[] => {
  if ('unreadable' in disk.erase) return [];
  const { sanitize_block, sanitize_crypto, format, format_crypto, discard } = disk.erase.value;
  return [
    sanitize_block || sanitize_crypto ? (['nvme_sanitize'] as const) : [],
    format || format_crypto ? (['nvme_format'] as const) : [],
    discard ? (['blkdiscard'] as const) : [],
  ].flat();
};

const chooseMethod = (
  disks: readonly DiskFacts[],
  target: WipeTarget,
): Readonly<{ method: WipeMethod } | { blocked: string }> => {
  const found = disks.filter((disk) => disk.serial === target.serial);
  const [disk] = found;
  if (disk === undefined) return { blocked: `disk ${target.serial} is not on the host` };
  if (found.length > 1) return { blocked: `${found.length} disks say that their serial is ${target.serial}` };
  const uses = inUse(disk);
  if (uses.length > 0) return { blocked: `${uses.join(', ')}; free it, the agent never unmounts` };
  if ('unreadable' in disk.erase)
    return { blocked: `what the drive can erase cannot be read: ${disk.erase.unreadable}` };
  const methods = methodsOf(disk);
  const method = target.policy ?? methods[0];
  if (method === undefined)
    return { blocked: 'no_erase_method: the drive offers neither sanitize, format nor discard' };
  if (!methods.includes(method))
    return { blocked: `the policy is ${method}, but the drive supports ${methods.join(', ') || 'no method'}` };
  return { method };
};
