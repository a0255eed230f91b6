/** Blockers of a disk. The agent never unmounts and never wipes an unapproved disk: it reports the users and waits. */
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
        `The only disk${under(place)}, ${list(place.boot_drives)}, holds the host's operating system. Move it to another disk or add a disk.`,
      );
    return block(
      'nvme_missing',
      'nvme_serial',
      place.upstream_port === null
        ? `${NO_SWITCH}: no disk.`
        : `No NVMe disk is${under(place)}. Install one there, then run discovery again.`,
    );
  }
  if (disk === null)
    return block(
      'nvme_missing',
      'nvme_serial',
      `The NVMe controller ${place.drive.address} has no usable namespace. Bind it to the nvme driver and create one namespace, or replace the disk.`,
    );
  const name = disk.serial === null ? disk.name : `${disk.name} (${disk.serial})`;
  const blockers: Blocker[] = [];
  if (disk.serial === null || disk.device === null)
    blockers.push(
      ...block(
        'nvme_unidentified',
        'nvme_serial',
        `Disk ${disk.name} has no serial or no name in /dev/disk/by-id. Replace it.`,
      ),
    );
  if (disk.namespaces !== null && disk.namespaces > 1)
    blockers.push(
      ...block(
        'nvme_namespaces',
        'nvme_serial',
        `Disk ${name} has ${disk.namespaces} namespaces; a slot owns a whole disk. Keep one namespace.`,
      ),
    );
  if (disk.mounts.length > 0)
    blockers.push(
      ...block(
        'nvme_mounted',
        'nvme_mounts',
        `Disk ${name} is mounted at ${list(disk.mounts)}. Move its data away and unmount it; the agent never does.`,
      ),
    );
  if (disk.is_swap)
    blockers.push(
      ...block('nvme_swap', 'nvme_mounts', `Disk ${name} is swap space. Remove it from /etc/fstab and run swapoff.`),
    );
  if (disk.holders.length > 0)
    blockers.push(
      ...block(
        'nvme_held',
        'nvme_holders',
        `Disk ${name} is in use by ${list(disk.holders)} (LVM, RAID or device mapper). Remove those users.`,
      ),
    );
  if (disk.unreadable !== undefined)
    blockers.push(
      ...block(
        'facts_unreadable',
        'nvme_filesystems',
        `The content of disk ${name} could not be read: ${disk.unreadable} Fix that or replace the disk.`,
      ),
    );
  if (disk.filesystems.length > 0 || disk.partitions.length > 0)
    blockers.push(
      ...block(
        'nvme_filesystem',
        'nvme_filesystems',
        `Disk ${name} carries ${list([...disk.filesystems, ...disk.partitions.map((one) => `partition ${one}`)])}. Approve the disk for wiping, or replace it.`,
      ),
    );
  if (found.wipe_method === null)
    blockers.push(
      ...block(
        'nvme_erase_missing',
        'wipe_method',
        'unreadable' in disk.erase
          ? `The wipe methods of disk ${name} are unreadable: ${disk.erase.unreadable}`
          : `Disk ${name} supports neither sanitize, format nor discard, so a wipe cannot be verified. Replace it.`,
      ),
    );
  return blockers;
};
