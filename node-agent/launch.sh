#!/bin/sh
# Starts the current version of the agent. It is installed beside the versions and no update replaces it: it counts the
# starts of a new version, and when that did not reach the platform in three it puts the version before back. So even a
# version that cannot be parsed does not leave the host without an agent.
set -eu

STARTS_MAX=3

self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
home=$(cd "$(dirname "$self")/.." && pwd)
update=$home/update

if [ "${1:-}" = run ] && [ -f "$update/pending" ]; then
  starts=$(cat "$update/starts" 2>/dev/null || echo 0)
  starts=$((starts + 1))
  if [ "$starts" -gt "$STARTS_MAX" ]; then
    before=$(cat "$update/pending")
    failed=$(basename "$(readlink "$home/current")")
    if [ -f "$home/versions/$before/gpuaas-node-agent.mjs" ]; then
      rm -f "$home/current.back"
      ln -s "versions/$before" "$home/current.back"
      mv -Tf "$home/current.back" "$home/current"
      printf '%s\n' "$failed" >"$update/rolled-back"
      echo "gpuaas-node-agent: version $failed did not reach the platform; back to $before" >&2
    fi
    rm -f "$update/pending" "$update/starts"
  else
    # A full disk must not keep the agent from starting.
    printf '%s\n' "$starts" >"$update/starts" || true
  fi
fi

GPUAAS_NODE_HOME=$home
export GPUAAS_NODE_HOME
node=$home/bin/node
[ -x "$node" ] || node=node
exec "$node" "$home/current/gpuaas-node-agent.mjs" "$@"
