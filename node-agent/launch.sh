#!/bin/sh
# Starts the current version of the agent. Updates never replace this script: it counts the starts of a new version and
# restores the previous one if the new version does not reach the control plane in three starts. A version that fails to
# start therefore never leaves the host without an agent.
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
      echo "gpuaas-node-agent: version $failed did not reach the control plane; restored $before" >&2
    fi
    rm -f "$update/pending" "$update/starts"
  else
    # The agent must start even if the disk is full.
    printf '%s\n' "$starts" >"$update/starts" || true
  fi
fi

GPUAAS_NODE_HOME=$home
export GPUAAS_NODE_HOME
node=$home/bin/node
[ -x "$node" ] || node=node
exec "$node" "$home/current/gpuaas-node-agent.mjs" "$@"
