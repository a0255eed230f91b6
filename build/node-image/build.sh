#!/bin/sh
# Builds the disk of a GPU node from Debian packages: `build.sh` prints the folder that holds root.raw (one ext4 file system, no
# partitions), vmlinuz and initrd. The folder is named by the hash of everything the node is made by, so a recipe that did
# not change is not built twice; whoever is first puts it in place in one step. The agent is not in it: its own install
# script puts it there. Nothing is mounted and no loop device is used. Needs root, mmdebstrap and e2fsprogs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${GPUAAS_IMAGE_CACHE:-/var/cache/gpuaas-images}
# The suite and components the node is made of; a file of apt sources or one line of them.
sources=${GPUAAS_APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}
recipe=$(cd "$here" && find build.sh packages.txt files -type f | LC_ALL=C sort)
hash=$(cd "$here" && for file in $recipe; do echo "$file" && cat "$file"; done | sha256sum | cut -c 1-16)
out=$cache/node-$hash
[ -d "$out" ] && { echo "$out"; exit 0; }

mkdir -p "$cache"
work=$(mktemp -d "$cache/making-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/out"

packages=$(sed 's/#.*//' "$here/packages.txt" | tr -s ' \n' ,)
# Files are there before the packages, so that the initial file system is made once and with what it needs only.
mmdebstrap --mode=root --variant=minbase --include="${packages%,}" \
  --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
  --dpkgopt=force-unsafe-io --dpkgopt=force-confold \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/lib/modules/*/kernel/sound/*' \
  --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/gpu/*' --dpkgopt='path-exclude=/lib/modules/*/kernel/drivers/media/*' \
  --essential-hook="cp -a '$here/files/.' \"\$1/\"" \
  --customize-hook='echo gpu-node >"$1/etc/hostname"; echo "/dev/vda / ext4 noatime 0 1" >"$1/etc/fstab"' \
  --customize-hook='chroot "$1" systemctl --quiet enable systemd-networkd node-bridge' \
  --customize-hook='chroot "$1" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap fstrim.timer libvirt-guests systemd-firstboot' \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_*; : >"$1/etc/machine-id"' \
  "${SUITE:-bookworm}" "$work/root" "$sources" >&2

kernel=$(ls "$work/root/lib/modules" | sort -V | tail -1)
cp "$work/root/boot/vmlinuz-$kernel" "$work/out/vmlinuz"
cp "$work/root/boot/initrd.img-$kernel" "$work/out/initrd"
truncate -s 3G "$work/out/root.raw"
mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 -d "$work/root" "$work/out/root.raw"
chmod 755 "$work/out"
# On the disk before it is used: later flushes of others would wait for it.
sync "$work"/out/*
mv -T "$work/out" "$out" 2>/dev/null || [ -d "$out" ]
echo "$out"
