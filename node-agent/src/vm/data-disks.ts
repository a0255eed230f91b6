/**
 * Formatted data disks in a guest OS: each gets ext4 once and is mounted at /data/1, /data/2 and so on, at every boot. A
 * disk is formatted only if its first 16 MiB and its last MiB are blank, so never twice, and never over a tenant's data
 * after a reinstall; cloud-init's own fs_setup would replace a file system of another type. A disk that holds anything
 * else is mounted as it is, or left alone: it belongs to the tenant. Disks are found by serial number, because their
 * names in the guest OS follow the order in which it finds them. It runs before sshd and before the commands of the
 * tenant, who therefore finds the disks mounted; /etc/fstab stays the tenant's, and a disk mounted by it is left alone.
 */
import { DATA_DISK_FOLDER } from '@gpuaas/contract/node';
import type { VmPlan } from '../host/host.ts';
import { drivesOf } from './drives.ts';
import { diskSerial } from './grammar.ts';

/** The readiness check that the platform itself asks for: every data disk is mounted, or holds data of the tenant. */
export const DATA_DISKS_CHECK = 'data_disks';
/** One line, as the programs of images print their checks. */
export const DATA_DISKS_RESULT = '/run/gpuaas-data-disks';

/** POSIX sh, for busybox too. A disk that cannot be read in full is not blank. */
const SCRIPT = `PATH=$PATH:/usr/sbin:/sbin
problem= number=0
fail() { echo "gpuaas: data disk $number ($serial) $1" >&2; problem="\${problem:-data disk $number $1}"; }
find_disk() {
  for disk in /sys/block/*; do
    [ "$(cat "$disk/serial" 2>/dev/null)" = "$serial" ] && disk="\${disk##*/}" && return
  done
  return 1
}
await_disk() { for _ in 1 2 3 4 5 6 7 8 9 10; do find_disk && return; sleep 1; done; return 1; }
is_blank_at() {
  dd if="/dev/$disk" bs="$1" skip="$2" count="$3" 2>/dev/null | tr '\\377' '\\000' | cmp -s -n $(($1 * $3)) - /dev/zero
}
is_blank() {
  read -r sectors <"/sys/block/$disk/size" && is_blank_at 1048576 0 16 && is_blank_at 512 $((sectors - 2048)) 2048
}
is_mounted() { grep -q -e "^/dev/$disk " -e " $folder " /proc/mounts; }
set_up() {
  await_disk || { fail 'is missing'; return; }
  is_mounted && return
  is_new=no
  if is_blank; then
    is_new=yes
    mkfs.ext4 -q -F -m 0 -E nodiscard -L "data-$number" "/dev/$disk" || { fail 'could not be formatted'; return; }
  fi
  mkdir -p "$folder"
  mount "/dev/$disk" "$folder" && return
  if [ $is_new = yes ]; then fail 'could not be mounted'
  else echo "gpuaas: data disk $number ($serial) holds data that cannot be mounted at $folder; it is left as it is" >&2; fi
}
for serial in $serials; do
  number=$((number + 1)) folder=${DATA_DISK_FOLDER}/$((number))
  if command -v mkfs.ext4 >/dev/null && command -v cmp >/dev/null; then set_up; else fail 'needs mkfs.ext4 and cmp in the image'; fi
done
if [ -z "$problem" ]; then echo 'ok ${DATA_DISKS_CHECK}'; else echo "not ok ${DATA_DISKS_CHECK}: $problem"; fi >${DATA_DISKS_RESULT}
`;

/** Every disk of the VM but the boot disk, in slot order. */
const dataDisksOf = (plan: VmPlan['plan']): readonly string[] =>
  drivesOf(plan)
    .slice(1)
    .map((slot) => diskSerial(slot.nvme_serial));

/** The command of every boot, or none for raw disks. */
export const dataDisksStart = ({ plan, seed }: VmPlan): readonly (readonly string[])[] =>
  seed.storage === 'formatted' ? [['sh', '-c', `serials='${dataDisksOf(plan).join(' ')}'\n${SCRIPT}`]] : [];

/** The checks of the platform itself for such a VM. */
export const platformChecks = (storage: VmPlan['seed']['storage']): readonly string[] =>
  storage === 'formatted' ? [DATA_DISKS_CHECK] : [];
