#!/bin/sh
# Brings node_modules in line with the lockfile, and runs the install scripts of exactly the packages that package.json
# allows (allowScripts). Quick and silent when there is nothing to do.
set -eu
cd "$(dirname "$0")/.."

die() { echo "install: $*" >&2; exit 1; }
command -v npm >/dev/null 2>&1 || die "npm is not installed (Debian: apt-get install nodejs npm)."
command -v node >/dev/null 2>&1 || die "node is not installed (Debian: apt-get install nodejs npm)."

is_built() { [ "$(cat node_modules/.install-scripts-done 2>/dev/null || echo none)" = "$(node tools/install/state.mjs scripts)" ]; }
is_done() { node tools/install/state.mjs installed && is_built; }

is_done && exit 0

# Two commands started at once on a clean clone install once.
if [ "${GPUAAS_INSTALL_LOCKED:-}" != 1 ] && command -v flock >/dev/null 2>&1; then
  GPUAAS_INSTALL_LOCKED=1 exec flock package.json sh tools/install.sh
fi

if ! node tools/install/state.mjs installed; then
  echo "Installing packages ..." >&2
  npm ci --loglevel=error --no-audit --no-fund >&2 || die "npm ci failed; see the messages above."
fi

if ! is_built; then
  scripts=$(node tools/install/state.mjs scripts)
  if [ -n "$scripts" ]; then
    # One name per line, none with a space; the version is for the stamp, npm wants the name.
    # shellcheck disable=SC2046
    output=$(npm rebuild --loglevel=error --ignore-scripts=false $(echo "$scripts" | sed 's/@[^@]*$//') 2>&1) ||
      die "npm rebuild failed: $output"
  fi
  echo "$scripts" > node_modules/.install-scripts-done
fi
