#!/bin/sh
# Puts built images into a directory that agents pull from: `publish.sh DIRECTORY BUILT...`. It is served as it is, or is
# the source itself (GPUAAS_NODE_IMAGE_SOURCE). The index is replaced last and whole.
set -eu
folder=${1:?usage: publish.sh DIRECTORY BUILT...}
shift
mkdir -p "$folder/blobs/sha256"
for built in "$@"; do
  hex=$(sed -n 's/.*"digest": "sha256:\([0-9a-f]*\)".*/\1/p' "$built/catalog.json")
  echo "$hex  $built/disk.qcow2" | sha256sum --check --quiet
  cp --sparse=always "$built/disk.qcow2" "$folder/blobs/sha256/.$hex"
  mv "$folder/blobs/sha256/.$hex" "$folder/blobs/sha256/$hex"
  cp "$built/catalog.json" "$folder/blobs/sha256/$hex.json"
done
{
  printf '{"images":['
  comma=
  for entry in "$folder"/blobs/sha256/*.json; do printf '%s' "$comma"; cat "$entry"; comma=,; done
  printf ']}\n'
} >"$folder/.index.json"
mv "$folder/.index.json" "$folder/index.json"
