/**
 * What stands in the way of owning a drive. The agent never unmounts and never wipes what nobody gave it: it says who
 * uses the drive and waits.
 */
import type { Blocker } from '@gpuaas/contract/node';
import { block, list, NO_SWITCH, type Rule, under } from './blocker-rule.ts';
import { reasonOf } from './read.ts';

export const drive: Rule = ({ place, facts, found, disk }) => {
  if (reasonOf(facts.disks) !== null) return [];
  if (place.drive === null) {
    if (place.boot_drives.length > 0)
      return block(
        'nvme_boot',
        'nvme_serial',
        `The only drive${under(place)}, ${list(place.boot_drives)}, holds the host's own system. Move the system to another drive or add one.`,
      );
    return block(
      'nvme_missing',
      'nvme_serial',
      place.upstream_port === null
        ? `${NO_SWITCH}: no drive.`
        : `No NVMe drive is${under(place)}. Fit one there, then discover again.`,
    );
  }
  if (disk === null)
    return block(
      'nvme_missing',
      'nvme_serial',
      `The NVMe controller ${place.drive.address} shows no usable namespace. Bind it to the nvme driver and make one namespace, or replace the drive.`,
    );
  const name = disk.serial === null ? disk.name : `${disk.name} (${disk.serial})`;
  const blockers: Blocker[] = [];
  if (disk.serial === null || disk.device === null)
    blockers.push(
      ...block(
        'nvme_unidentified',
        'nvme_serial',
        `Drive ${disk.name} has no serial or no name in /dev/disk/by-id. Replace it.`,
      ),
    );
  if (disk.namespaces !== null && disk.namespaces > 1)
    blockers.push(
      ...block(
        'nvme_namespaces',
        'nvme_serial',
        `Drive ${name} has ${disk.namespaces} namespaces; a slot owns a whole drive. Leave one.`,
      ),
    );
  if (disk.mounts.length > 0)
    blockers.push(
      ...block(
        'nvme_mounted',
        'nvme_mounts',
        `Drive ${name} is mounted at ${list(disk.mounts)}. Move its data away and unmount it; the agent never does.`,
      ),
    );
  if (disk.is_swap)
    blockers.push(
      ...block('nvme_swap', 'nvme_mounts', `Drive ${name} is swap space. Take it out of /etc/fstab and run swapoff.`),
    );
  if (disk.holders.length > 0)
    blockers.push(
      ...block(
        'nvme_held',
        'nvme_holders',
        `Drive ${name} is held by ${list(disk.holders)} (LVM, RAID or device mapper). Remove what uses it.`,
      ),
    );
  if (disk.unreadable !== undefined)
    blockers.push(
      ...block(
        'facts_unreadable',
        'nvme_filesystems',
        `What is written on drive ${name} could not be read: ${disk.unreadable} Repair that or replace the drive.`,
      ),
    );
  if (disk.filesystems.length > 0 || disk.partitions.length > 0)
    blockers.push(
      ...block(
        'nvme_filesystem',
        'nvme_filesystems',
        `Drive ${name} carries ${list([...disk.filesystems, ...disk.partitions.map((one) => `partition ${one}`)])}. Approve that the platform owns and wipes it, or replace it.`,
      ),
    );
  if (found.wipe_method === null)
    blockers.push(
      ...block(
        'nvme_erase_missing',
        'wipe_method',
        'unreadable' in disk.erase
          ? `How drive ${name} can be erased could not be read: ${disk.erase.unreadable}`
          : `Drive ${name} offers no sanitize, format or discard, so it could not be proven empty. Replace it.`,
      ),
    );
  return blockers;
};
