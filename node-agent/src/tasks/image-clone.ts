/**
 * `slice.image_clone`: copies the image to the disk of the boot slot. The disks of the other slots become data disks.
 * They must be blank and are checked before anything is written, because any leftover byte of a former tenant would be
 * passed on. A reinstall finds the tenant's own data there: see image-reinstall.ts.
 */
import { HostError, type OpenDisk } from '../host/host.ts';
import { getLease, readLeases, touchLease } from '../leases.ts';
import { refuseBootKind } from './boot-kind.ts';
import { cloneImage, pullImage } from './image-copy.ts';
import { cloneOver, refuseRunning, refuseUserData, reportDisk } from './image-reinstall.ts';
import { bootSlot, domainName } from './names.ts';
import { readBack } from './read-back.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, slotKeys, withLocks } from './task-locks.ts';

export const imageClone: TaskHandler<'slice.image_clone'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), async (act) => {
    const lease = getLease(await readLeases(ctx.state), params.allocation_id, params.slots);
    const boot = bootSlot(params.slots);
    if ((params.install ?? 0) > 0 && lease.touched_at !== null)
      return reportDisk(ctx, act, params.allocation_id, async (onWriting) => {
        await refuseBootKind(ctx, act, params.boot_kind);
        await refuseUserData(ctx, act, params.user_data ?? null);
        const image = await pullImage(ctx, act, params.image);
        await refuseRunning(ctx, act, params.allocation_id);
        const given = { allocationId: params.allocation_id, image, onWriting };
        return withDisk(ctx, act, boot, (disk) => cloneOver(ctx, act, { ...given, disk }));
      });
    await refuseBootKind(ctx, act, params.boot_kind);
    await refuseRunningVm(ctx, act, params.allocation_id);
    const image = await pullImage(ctx, act, params.image);
    for (const slot of params.slots.filter((each) => each.slot_id !== boot.slot_id))
      await withDisk(ctx, act, slot, (disk) => refuseUnlessBlank(act, disk));
    return withDisk(ctx, act, boot, async (disk) => {
      // An interrupted clone of this lease may be on it; anything else may not.
      const is_zero = lease.touched_at === null && (await refuseUnlessBlank(act, disk));
      await touchLease(ctx.state, params.allocation_id, ctx.now());
      return cloneImage(ctx, act, { image, disk, is_zero });
    });
  });

const refuseRunningVm = async (ctx: TaskContext, act: Act, allocationId: string): Promise<void> => {
  const name = domainName(allocationId);
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const domain = domains.find((each) => each.name === name || each.allocation_id === allocationId);
  if (domain !== undefined)
    throw new HostError('conflict', `VM ${domain.name} exists (${domain.state}). Its disk is not overwritten.`);
};

const withDisk = async <T>(
  ctx: TaskContext,
  act: Act,
  slot: Readonly<{ nvme_serial: string; nvme_device: string }>,
  fn: (disk: OpenDisk) => Promise<T>,
): Promise<T> => {
  const identity = { serial: slot.nvme_serial, device: slot.nvme_device };
  const disk = await act(`opening disk ${slot.nvme_serial}`, ctx.host.disks.open(identity));
  try {
    return await fn(disk);
  } finally {
    await act(`closing disk ${slot.nvme_serial}`, disk.close());
  }
};

/** Whether it reads as zeros: some blank disks read as ones. */
const refuseUnlessBlank = async (act: Act, disk: OpenDisk): Promise<boolean> => {
  const found = await act(`reading disk ${disk.serial}`, readBack(disk));
  if (found.bytes_not_erased > 0 || found.signatures_left.length > 0)
    throw new HostError(
      'blocked',
      `disk ${disk.serial} is not blank: ${found.signatures_left.join(', ') || `${found.bytes_not_erased} bytes of data`} found; it must be wiped first`,
    );
  return found.is_zero;
};
