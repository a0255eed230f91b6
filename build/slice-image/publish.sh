#!/bin/sh
# Puts built images into a directory that agents pull from: `publish.sh DIRECTORY BUILT...`. It is served as it is, or is
# the source itself (GPUAAS_NODE_IMAGE_SOURCE). The index is replaced last and whole.
set -eu
directory=${1:?usage: publish.sh DIRECTORY BUILT...}
shift
mkdir -p "$directory/blobs/sha256"
for built in "$@"; do
  hex=$(sed -n 's/.*"digest": "sha256:\([0-9a-f]*\)".*/\1/p' "$built/catalog.json")
  echo "$hex  $built/disk.qcow2" | sha256sum --check --quiet
  cp --sparse=always "$built/disk.qcow2" "$directory/blobs/sha256/.$hex"
  mv "$directory/blobs/sha256/.$hex" "$directory/blobs/sha256/$hex"
  cp "$built/catalog.json" "$directory/blobs/sha256/$hex.json"
done
{
  printf '{"images":['
  comma=
  for entry in "$directory"/blobs/sha256/*.json; do printf '%s' "$comma"; cat "$entry"; comma=,; done
  printf ']}\n'
} >"$directory/.index.json"
mv "$directory/.index.json" "$directory/index.json"
