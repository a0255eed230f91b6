#!/bin/sh
# Makes the tiny guest of the host tier from Debian packages: `build.sh FOLDER` leaves guest.raw (boots by UEFI),
# vmlinuz and initrd (boot directly). Nothing is mounted and no loop device is needed.
set -eu
out=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/deb" "$work/root/modules" "$work/root/bin" "$work/root/usr/sbin"

package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
[ -n "$package" ] || { echo "apt knows no cloud kernel; run apt-get update" >&2; exit 1; }
(cd "$work/deb" && apt-get -qq -o APT::Sandbox::User=root download "$package")
dpkg -x "$work"/deb/*.deb "$work/kernel"
cp "$work"/kernel/boot/vmlinuz-* "$out/vmlinuz"

root=$work/root
cp "$(command -v busybox)" "$root/bin/busybox"
for program in /usr/sbin/dropbear /usr/bin/dropbearkey /usr/bin/rsync /usr/lib/openssh/sftp-server /usr/sbin/mkfs.ext4; do
  cp -L "$program" "$root/usr/sbin/"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
# A module after those it depends on, which differ from kernel to kernel.
add_module() {
  grep -qx "$1.ko" "$root/modules/order" && return
  file=$(find "$work/kernel" -name "$1.ko")
  [ -n "$file" ] || { echo "$package has no module $1" >&2; exit 1; }
  cp "$file" "$root/modules/"
  for dependency in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',' ' '); do
    add_module "$dependency"
  done
  echo "$1.ko" >>"$root/modules/order"
}
: >"$root/modules/order"
for module in virtio_pci virtio_blk virtio_net virtio_console virtio_scsi sr_mod isofs evdev button; do
  add_module "$module"
done
# Where dropbear looks for it, and where a login's path leads.
mkdir -p "$root/usr/lib" "$root/usr/bin"
ln -s /usr/sbin/sftp-server "$root/usr/lib/sftp-server"
ln -s /usr/sbin/rsync "$root/usr/bin/rsync"
install -m 755 "$here/init" "$root/init"
(cd "$root" && find . | LC_ALL=C sort | busybox cpio -o -H newc -R 0:0) | gzip -1n >"$out/initrd"

# One file that firmware starts: kernel, initrd and command line behind the stub of systemd.
printf 'console=ttyS0 quiet panic=1 net.ifnames=0' >"$work/cmdline"
printf 'ID=gpuaas-tiny\n' >"$work/osrel"
objcopy --add-section .osrel="$work/osrel" --change-section-vma .osrel=0x20000 \
  --add-section .cmdline="$work/cmdline" --change-section-vma .cmdline=0x30000 \
  --add-section .linux="$out/vmlinuz" --change-section-vma .linux=0x2000000 \
  --add-section .initrd="$out/initrd" --change-section-vma .initrd=0x4000000 \
  /usr/lib/systemd/boot/efi/linuxx64.efi.stub "$work/boot.efi"

# An EFI partition of 24 MiB and one for what lasts.
truncate -s 24M "$work/esp"
mkfs.vfat -F 16 "$work/esp" >/dev/null
mmd -i "$work/esp" ::/EFI ::/EFI/BOOT
mcopy -i "$work/esp" "$work/boot.efi" ::/EFI/BOOT/BOOTX64.EFI
truncate -s 8M "$work/state"
mke2fs -q -t ext4 -E lazy_itable_init=0 "$work/state"
rm -f "$out/guest.raw.new"
truncate -s 40M "$out/guest.raw.new"
sgdisk -n 1:2048:+24M -t 1:ef00 -n 2:0:+8M -t 2:8300 "$out/guest.raw.new" >/dev/null
dd if="$work/esp" of="$out/guest.raw.new" bs=1M seek=1 conv=notrunc,sparse status=none
dd if="$work/state" of="$out/guest.raw.new" bs=1M seek=25 conv=notrunc,sparse status=none
mv "$out/guest.raw.new" "$out/guest.raw"
