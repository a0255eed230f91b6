#!/bin/sh
# Whether this guest is what its image promises: `readiness CHECK...` runs the named checks, or without names those that the
# file beside it lists. It runs in the guest, prints `ok CHECK` or `not ok CHECK: why` for each, and fails if one does not
# hold. All are run: an operator wants to know everything that is wrong, not the first of it.
set -u
[ $# -gt 0 ] || set -- $(cat "$(dirname "$0")/checks")

host_name() { [ -s /etc/hostname ] || why='there is no /etc/hostname'; }
ssh_host_key() { ls /etc/ssh/ssh_host_*_key >/dev/null 2>&1 || why='there is no key in /etc/ssh'; }
cloud_init() { command -v cloud-init >/dev/null || why='cloud-init is not installed'; }
no_cuda() {
  if command -v nvcc >/dev/null; then why='nvcc is there'
  elif ls -d /usr/local/cuda* /usr/lib/cuda /usr/lib/*/libcuda.so* >/dev/null 2>&1; then why='CUDA libraries are there'; fi
}
cuda_compiler() { nvcc --version >/dev/null 2>&1 || why='nvcc does not run'; }
cuda_compile() {
  folder=$(mktemp -d)
  printf '__global__ void f() {}\nint main() { f<<<1, 1>>>(); return 0; }\n' >"$folder/a.cu"
  nvcc -o "$folder/a" "$folder/a.cu" >"$folder/log" 2>&1 || why="a program does not compile: $(tail -n 1 "$folder/log")"
  rm -rf "$folder"
}
# A driver that was built for another kernel is found here and not by the tenant's first program.
gpu_driver() {
  if ! lspci -n -d 10de: 2>/dev/null | grep -q .; then why='no NVIDIA device is on the bus'
  elif ! nvidia-smi -L >/dev/null 2>&1; then why='nvidia-smi does not answer'; fi
}

status=0
for check; do
  why=
  case $check in
    host_name | ssh_host_key | cloud_init | no_cuda | cuda_compiler | cuda_compile | gpu_driver) "$check" ;;
    *) why='this image knows no such check' ;;
  esac
  if [ -z "$why" ]; then echo "ok $check"; else echo "not ok $check: $why"; status=1; fi
done
exit $status
