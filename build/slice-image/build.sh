#!/bin/sh
# Builds an image of images/NAME.conf from Debian packages: `build.sh NAME`. It prints the folder that holds disk.qcow2,
# vmlinuz, initrd, cmdline and catalog.json. The folder is named by the hash of everything the image is made by, so a recipe that
# did not change is not built twice. Needs root, mmdebstrap, qemu-utils, gdisk, mtools, dosfstools, binutils, e2fsprogs.
set -eu
name=${1:?usage: build.sh NAME}
here=$(cd "$(dirname "$0")" && pwd)
conf=$here/images/$name.conf
[ -f "$conf" ] || { echo "There is no image $name; there are: $(ls "$here/images" | sed -n 's/\.conf$//p' | tr '\n' ' ')" >&2; exit 2; }
cache=${GPUAAS_IMAGE_CACHE:-/var/cache/gpuaas-images}
# The suite and components an image is made of; a file of apt sources or one line of them.
sources=${GPUAAS_APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}
hash=$(cat "$conf" "$here/build.sh" "$here/make-disk.sh" "$here/readiness.sh" | sha256sum | cut -c 1-16)
out=$cache/$name-$hash
[ -d "$out" ] && { echo "$out"; exit 0; }

# shellcheck source=/dev/null
. "$conf"
mkdir -p "$cache"
work=$(mktemp -d "$cache/making-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/out"

packages=linux-image-cloud-amd64,initramfs-tools,systemd-sysv,systemd-boot-efi,udev,dbus,openssh-server,cloud-init
packages=$packages,cloud-guest-utils,fdisk,e2fsprogs,iproute2,iputils-ping,sudo,ca-certificates,netbase,kmod,nvme-cli
packages=$packages,pciutils${PACKAGES:+,$PACKAGES}
mmdebstrap --mode=root --variant=minbase --include="$packages" ${COMPONENTS:+--components="$COMPONENTS"} \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='echo gpuaas >"$1/etc/hostname"; echo "LABEL=root / ext4 defaults 0 1" >"$1/etc/fstab"' \
  --customize-hook='printf "datasource_list: [ NoCloud, None ]\nlocale: false\n" >"$1/etc/cloud/cloud.cfg.d/90_gpuaas.cfg"' \
  --customize-hook="install -D -m 755 '$here/readiness.sh' \"\$1/usr/local/lib/gpuaas/readiness\"" \
  --customize-hook="printf '%s\n' '${CHECKS:-base}' >\"\$1/usr/local/lib/gpuaas/checks\"" \
  --customize-hook='chroot "$1" systemctl enable systemd-networkd ssh serial-getty@ttyS0 >/dev/null 2>&1' \
  --customize-hook='chroot "$1" systemctl mask systemd-networkd-wait-online systemd-firstboot >/dev/null 2>&1' \
  --customize-hook='echo RESUME=none >"$1/etc/initramfs-tools/conf.d/resume"; chroot "$1" update-initramfs -u >/dev/null' \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_* "$1/etc/machine-id"; : >"$1/etc/machine-id"' \
  "${SUITE:-bookworm}" "$work/root" "$sources" >&2

"$here/make-disk.sh" "$work/root" "$work/out" "${SIZE_MIB:?}" >&2
digest=sha256:$(sha256sum "$work/out/disk.qcow2" | cut -d ' ' -f 1)
cat >"$work/out/catalog.json" <<JSON
{
  "name": "$name",
  "display_name": "$DISPLAY_NAME",
  "os_family": "$OS_FAMILY",
  "os_version": "$OS_VERSION",
  "digest": "$digest",
  "format": "qcow2",
  "size_bytes": $(stat -c %s "$work/out/disk.qcow2"),
  "driver_strategy": "$DRIVER_STRATEGY",
  "readiness": "/usr/local/lib/gpuaas/readiness",
  "source": "build/slice-image/images/$name.conf at recipe $hash",
  "digest_authority": "whoever ran build.sh and registered this digest in the catalog"
}
JSON
chmod 755 "$work/out"
mv -T "$work/out" "$out" 2>/dev/null || [ -d "$out" ]
echo "$out"
