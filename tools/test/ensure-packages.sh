#!/bin/sh
# Installs the Debian packages of packages.txt that are missing, where this is Debian and we are root. It never fails:
# a test whose program is missing is skipped with that reason, and GPUAAS_REQUIRE=all makes the skip a failure.
list=$(dirname "$0")/packages.txt
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1 || exit 0

missing=
for package in $(sed 's/#.*//' "$list"); do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

echo "Installing Debian packages for the tests:$missing" >&2
apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >/dev/null 2>&1; }
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing || { apt update; apt install -y --no-install-recommends $missing; } ||
  echo "Could not install:$missing (tests that need them are skipped)" >&2
exit 0
