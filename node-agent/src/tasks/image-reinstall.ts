/**
 * The part of `slice.image_clone` that replaces an existing system. The boot disk holds the tenant's own data, so no
 * wipe proof is needed; but zeros of the image are skipped only where the disk was verified to read as zeros after a
 * discard. The data disks are not opened. The old seed and firmware variables are removed with the old system.
 */
import type { TaskOutput } from '@gpuaas/contract/node';
import { HostError, type ImageName, type OpenDisk } from '../host/host.ts';
import { checkImage, cloneImage } from './image-copy.ts';
import { domainName } from './names.ts';
import { isWhole, readBack } from './read-back.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

type Cloned = TaskOutput<'slice.image_clone'>;

/**
 * A failure reports whether the old system is gone, because the tenant's next step depends on it. The definition is
 * removed before the first byte is written, so a VM that is still defined was not overwritten, even by an interrupted
 * attempt. If neither is known, nothing is reported.
 */
export const reportDisk = async <T>(
  ctx: TaskContext,
  act: Act,
  allocationId: string,
  fn: (onWriting: () => void) => Promise<T>,
): Promise<T> => {
  let isWritten = false;
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const isThere = domains.some((each) => each.allocation_id === allocationId);
  try {
    return await fn(() => {
      isWritten = true;
    });
  } catch (err) {
    if (!(err instanceof HostError) || !(isWritten || isThere)) throw err;
    const output = { ...err.output, is_disk_written: isWritten };
    throw new HostError(err.code, err.message, { cause: err, output });
  }
};

/** User data that the first start would refuse is refused while the old system still exists. */
export const refuseUserData = async (ctx: TaskContext, act: Act, userData: string | null): Promise<void> => {
  try {
    await act('the check of the user data', ctx.host.hypervisor.judge(userData));
  } catch (err) {
    if (!(err instanceof HostError) || err.code !== 'blocked') throw err;
    throw new HostError(err.code, err.message, { cause: err, output: { is_user_data_refused: true } });
  }
};

/** Before anything is written: a VM that is on may use its disk. */
export const refuseRunning = async (ctx: TaskContext, act: Act, allocationId: string): Promise<void> => {
  const name = domainName(allocationId);
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const domain = domains.find((each) => each.name === name || each.allocation_id === allocationId);
  if (domain !== undefined && (domain.name !== name || domain.allocation_id !== allocationId))
    throw new HostError('conflict', `VM ${domain.name} does not have the name and tag of allocation ${allocationId}.`);
  if (domain !== undefined && domain.state !== 'shut_off')
    throw new HostError('blocked', `VM ${name} is ${domain.state}. Stop it before its disk is overwritten.`);
};

/** A bad image is refused first: until then the old system, its definition and its variables are unchanged. */
export const cloneOver = async (
  ctx: TaskContext,
  act: Act,
  given: Readonly<{ allocationId: string; image: ImageName; disk: OpenDisk; onWriting: () => void }>,
): Promise<Cloned> => {
  const { allocationId, image, disk, onWriting } = given;
  await checkImage(ctx, act, { image, disk });
  const name = domainName(allocationId);
  // Called also when no domain is left: its seed may be.
  await act(`removing ${name}`, ctx.host.hypervisor.remove(name));
  onWriting();
  const is_zero = await forget(ctx, act, disk);
  return cloneImage(ctx, act, { image, disk, is_zero });
};

/** True only when the disk was read afterwards and returned zeros. A disk that does not discard is written in full. */
const forget = async (ctx: TaskContext, act: Act, disk: OpenDisk): Promise<boolean> => {
  try {
    const { command_status } = await act(`the discard of disk ${disk.serial}`, disk.wipe('blkdiscard'));
    if (command_status !== 0) return false;
  } catch (err) {
    if (!(err instanceof HostError) || ctx.signal.aborted) throw err;
    ctx.log.warn({ serial: disk.serial, err }, 'disk discard failed; writing the full image');
    return false;
  }
  const found = await act(`reading disk ${disk.serial}`, readBack(disk));
  return (
    found.is_zero &&
    isWhole(found, disk.size_bytes) &&
    found.bytes_not_erased === 0 &&
    found.signatures_left.length === 0
  );
};
