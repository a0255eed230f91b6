#!/bin/sh
# Whether this guest is what its image promises. It runs in the guest, prints one line per check and fails with the first
# that does not hold. What is promised stands in the file beside it: `base`, or `base cuda`.
set -u
checks=$(cat "$(dirname "$0")/checks" 2>/dev/null || echo base)
check() {
  what=$1
  shift
  if "$@" >/dev/null 2>&1; then echo "ok $what"; else echo "not ok $what"; exit 1; fi
}
has() { case " $checks " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
no_cuda() { ! command -v nvcc && ! ls /usr/local/cuda* /usr/lib/cuda; }
compiles() {
  folder=$(mktemp -d)
  printf '__global__ void f() {}\nint main() { f<<<1, 1>>>(); return 0; }\n' >"$folder/a.cu"
  nvcc -o "$folder/a" "$folder/a.cu"
  status=$?
  rm -rf "$folder"
  return $status
}

check 'the host has a name' test -s /etc/hostname
check 'the host has an SSH key' sh -c 'ls /etc/ssh/ssh_host_*_key'
check 'cloud-init is there' command -v cloud-init
if has cuda; then
  check 'the CUDA compiler is there' nvcc --version
  check 'a CUDA program compiles' compiles
  # Without a GPU there is nothing to ask.
  [ -z "$(lspci -d 10de: 2>/dev/null)" ] || check 'every GPU answers' nvidia-smi -L
else
  check 'there is no CUDA' no_cuda
fi
