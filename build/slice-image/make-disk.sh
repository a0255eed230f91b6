#!/bin/sh
# A folder with an operating system becomes a disk that firmware boots: `make-disk.sh ROOT OUT SIZE_MIB`. No file system is
# mounted and no loop device is needed. Kernel, initrd and command line are one file behind the stub of systemd.
set -eu
root=$1 out=$2 size=$3
work=$(mktemp -d "$out/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
esp=128
kernel=$(ls "$root/lib/modules" | sort -V | tail -1)
cp "$root/boot/vmlinuz-$kernel" "$out/vmlinuz"
cp "$root/boot/initrd.img-$kernel" "$out/initrd"

# By its place in the table of this disk: another disk may carry a file system of the same label.
uuid=$(cat /proc/sys/kernel/random/uuid)
printf 'root=PARTUUID=%s ro console=tty0 console=ttyS0,115200 net.ifnames=0' "$uuid" >"$work/cmdline"
cp "$work/cmdline" "$out/cmdline"
sed -i "s|^LABEL=root |PARTUUID=$uuid |" "$root/etc/fstab"
objcopy --add-section .osrel="$root/usr/lib/os-release" --change-section-vma .osrel=0x20000 \
  --add-section .cmdline="$work/cmdline" --change-section-vma .cmdline=0x30000 \
  --add-section .linux="$out/vmlinuz" --change-section-vma .linux=0x2000000 \
  --add-section .initrd="$out/initrd" --change-section-vma .initrd=0x4000000 \
  "$root/usr/lib/systemd/boot/efi/linuxx64.efi.stub" "$work/boot.efi"

truncate -s "${esp}M" "$work/esp"
mkfs.vfat -F 32 -n ESP "$work/esp" >/dev/null
mmd -i "$work/esp" ::/EFI ::/EFI/BOOT
mcopy -i "$work/esp" "$work/boot.efi" ::/EFI/BOOT/BOOTX64.EFI
rest=$((size - esp - 4))
truncate -s "${rest}M" "$work/root"
mke2fs -q -t ext4 -L root -E lazy_itable_init=1,lazy_journal_init=1 -d "$root" "$work/root"
truncate -s "${size}M" "$work/disk"
sgdisk --new=1:2048:+"${esp}"M --typecode=1:ef00 --new=2:0:+"${rest}"M --typecode=2:8304 --partition-guid=2:"$uuid" \
  "$work/disk" >/dev/null
dd if="$work/esp" of="$work/disk" bs=1M seek=1 conv=notrunc,sparse status=none
dd if="$work/root" of="$work/disk" bs=1M seek=$((1 + esp)) conv=notrunc,sparse status=none
qemu-img convert -q -c -m 4 -W -o compression_type=zstd -f raw -O qcow2 "$work/disk" "$out/disk.qcow2"
