#!/bin/sh
# Runs Node 24 or newer: the one that npm installed for this platform, else the system's.
here=$(cd "$(dirname "$0")/.." && pwd) || exit 1
node=$here/node_modules/.bin/node
if [ ! -x "$node" ]; then
  node=$(command -v node) || { echo "Node 24 or newer is needed; run \`make install\` in $here." >&2; exit 1; }
  major=$("$node" -p 'process.versions.node.split(".")[0]')
  if [ "$major" -lt 24 ]; then
    echo "Node 24 or newer is needed, $node is $major; run \`make install\` in $here." >&2
    exit 1
  fi
fi
exec "$node" "$@"
