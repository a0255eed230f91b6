#!/bin/sh
# Installs the Debian packages of packages.txt, or of the lists beside it that are named, where they are missing, this is
# Debian and we are root. It never fails: a test whose program is missing is skipped with that reason, and
# GPUAAS_REQUIRE=all makes the skip a failure.
cd "$(dirname "$0")" || exit 0
[ $# -gt 0 ] || set -- packages.txt
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 || exit 0

missing=
for package in $(cat "$@" | sed 's/#.*//'); do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

echo "Installing Debian packages for the tests and benchmarks:$missing" >&2
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >/dev/null 2>&1; }
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || { apt update; apt install -y --no-install-recommends $missing; } ||
  echo "Could not install:$missing (what needs them is skipped)" >&2
exit 0
