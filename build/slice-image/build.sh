#!/bin/sh
# Builds an image of images/NAME.conf from Debian packages: `build.sh NAME`. It prints the directory that holds disk.qcow2,
# vmlinuz, initrd, cmdline, catalog.json and contents.txt. The directory is named by the hash of everything they are made by, so
# a recipe that did not change is not built twice, and of concurrent builds the first one moves it into place atomically. `build.sh --where NAME`
# prints the directory and builds nothing. Needs root, mmdebstrap, qemu-utils, gdisk, mtools, dosfstools, binutils, e2fsprogs.
set -eu
is_asked=no
if [ "${1-}" = --where ]; then is_asked=yes; shift; fi
name=${1:?usage: build.sh [--where] NAME}
here=$(cd "$(dirname "$0")" && pwd)
conf=$here/images/$name.conf
[ -f "$conf" ] || { echo "There is no image $name; there are: $(ls "$here/images" | sed -n 's/\.conf$//p' | tr '\n' ' ')" >&2; exit 2; }
cache=${GPUAAS_IMAGE_CACHE:-/var/cache/gpuaas-images}
hash=$(cd "$here" && cat "$conf" build.sh make-root.sh make-disk.sh readiness.sh | sha256sum | cut -c 1-16)
out=$cache/$name-$hash
if [ "$is_asked" = yes ] || [ -d "$out" ]; then echo "$out"; exit 0; fi

# shellcheck source=/dev/null
. "$conf"
mkdir -p "$cache"
work=$(mktemp -d "$cache/making-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/out"

"$here/make-root.sh" "$conf" "$work/root" >&2
install -D -m 755 "$here/readiness.sh" "$work/root/usr/local/lib/gpuaas/readiness"
echo "$CHECKS" >"$work/root/usr/local/lib/gpuaas/checks"
(cd "$work/root" && find . -xdev -mindepth 1 | LC_ALL=C sort | sed 's/^\.//') >"$work/out/contents.txt"
"$here/make-disk.sh" "$work/root" "$work/out" "${SIZE_MIB:?}" >&2
digest=sha256:$(sha256sum "$work/out/disk.qcow2" | cut -d ' ' -f 1)
checks=$(printf '"%s", ' $CHECKS)
cat >"$work/out/catalog.json" <<JSON
{
  "name": "$name",
  "display_name": "$DISPLAY_NAME",
  "os_family": "$OS_FAMILY",
  "os_version": "$OS_VERSION",
  "digest": "$digest",
  "format": "qcow2",
  "size_bytes": $(stat -c %s "$work/out/disk.qcow2"),
  "boot_kind": "${BOOT_KIND:-uefi}",
  "driver_strategy": "$DRIVER_STRATEGY",
  "readiness_checks": [${checks%, }],
  "source": "build/slice-image/images/$name.conf at recipe $hash",
  "digest_authority": "${GPUAAS_DIGEST_AUTHORITY:-the operator who ran build.sh and registered this digest}"
}
JSON
chmod 755 "$work/out"
# On the disk before it is used: later flushes of others would wait for it.
sync "$work"/out/*
mv -T "$work/out" "$out" 2>/dev/null || [ -d "$out" ]
echo "$out"
