#!/bin/sh
# The file system of an image, from Debian packages: `make-root.sh CONF ROOT`. Apt runs inside of ROOT with sources of its
# own, so components that an image needs (CUDA is not free) never become sources of the machine that builds it.
set -eu
conf=$1 root=$2
# shellcheck source=/dev/null
. "$conf"
sources=$(mktemp)
trap 'rm -f "$sources"' EXIT
# Where packages come from is the machine's to say; only suite and components are the image's.
cat "${GPUAAS_APT_SOURCES:-/etc/apt/sources.list.d/debian.sources}" >"$sources"
components=${COMPONENTS:-main}
sed -i -e "s/^Components:.*/Components: $components/" -e "s/^\(deb .*\) main.*/\1 $components/" "$sources"

packages=linux-image-cloud-amd64,initramfs-tools,systemd-sysv,systemd-boot-efi,udev,dbus,openssh-server,cloud-init
packages=$packages,cloud-guest-utils,fdisk,e2fsprogs,iproute2,iputils-ping,sudo,ca-certificates,netbase,kmod,nvme-cli
packages=$packages,pciutils${PACKAGES:+,$PACKAGES}
set -- # What dpkg is to leave out, and what of that it is to keep after all.
for pattern in '/usr/share/man/*' '/usr/share/locale/*' ${EXCLUDE:-}; do set -- "$@" --dpkgopt="path-exclude=$pattern"; done
for pattern in ${INCLUDE:-}; do set -- "$@" --dpkgopt="path-include=$pattern"; done
# shellcheck disable=SC2016
mmdebstrap --mode=root --variant=minbase --include="$packages" "$@" \
  --aptopt='APT::Install-Recommends "false"' \
  --customize-hook='echo gpuaas >"$1/etc/hostname"; echo "LABEL=root / ext4 defaults 0 1" >"$1/etc/fstab"' \
  --customize-hook='printf "datasource_list: [ NoCloud, None ]\nlocale: false\n" >"$1/etc/cloud/cloud.cfg.d/90_gpuaas.cfg"' \
  --customize-hook='chroot "$1" systemctl enable systemd-networkd ssh serial-getty@ttyS0 >/dev/null 2>&1' \
  --customize-hook='chroot "$1" systemctl mask systemd-networkd-wait-online systemd-firstboot >/dev/null 2>&1' \
  --customize-hook='echo RESUME=none >"$1/etc/initramfs-tools/conf.d/resume"; chroot "$1" update-initramfs -u >/dev/null' \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_* "$1/etc/machine-id"; : >"$1/etc/machine-id"' \
  --customize-hook='rm -rf "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/sources.list' \
  "${SUITE:-bookworm}" "$root" "$sources"
