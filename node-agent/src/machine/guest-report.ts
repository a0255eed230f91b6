/**
 * What a guest says of itself, and how. A virtio-serial port carries one line of JSON after another, outwards only: the
 * guest writes, blocked while nobody listens, and the host connects to the port's socket, takes the last whole line and
 * leaves. Nothing is kept between: no file can fill up or be stale, and a host key is only told once it is final.
 *
 * The guest is the tenant's. What it says is a claim about itself, read with limits and a grammar, and used for nothing but
 * reaching it.
 */
import { pciId, sshPublicKey } from './grammar.ts';

export const REPORT_CHANNEL = 'org.gpuaas.report';
export const REPORT_PATH = '/usr/local/sbin/gpuaas-report';
/** Whoever reads the port stops here. */
export const REPORT_BYTES_MAX = 16 * 1024;

export type GuestReport = Readonly<{ ssh_host_key: string; gpu_count: number | null }>;

const GPUS_MAX = 64;

const reportOf = (line: string): GuestReport | null => {
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof said !== 'object' || said === null) return null;
  const { schema, ssh_host_key: key, gpu_count: gpus } = said as Readonly<Record<string, unknown>>;
  if (schema !== 1 || typeof key !== 'string') return null;
  const isCount = Number.isInteger(gpus) && (gpus as number) >= 0 && (gpus as number) <= GPUS_MAX;
  if (gpus !== null && !isCount) return null;
  try {
    return { ssh_host_key: sshPublicKey(key), gpu_count: gpus as number | null };
  } catch {
    return null;
  }
};

/** The last whole line that makes sense; what is cut off at either end does not. */
export const readReport = (bytes: Buffer): GuestReport | null =>
  bytes
    .subarray(-REPORT_BYTES_MAX)
    .toString('utf8')
    .split('\n')
    .slice(0, -1)
    .reduceRight<GuestReport | null>((found, line) => found ?? reportOf(line), null);

/**
 * The host key counts once cloud-init has made it anew and sshd listens, or a first visitor would be told the key of the
 * image. GPUs are counted by the driver where there is one (not at all while it does
 * not answer), else by what is on the bus. POSIX sh and /proc: images differ.
 */
export const reportScript = (accelerators: readonly string[]): string => `#!/bin/sh
# Tells the host which SSH host key this machine has and how many GPUs it sees, and nothing else.
port=/dev/virtio-ports/${REPORT_CHANNEL}
accelerators='${accelerators.map(pciId).join(' ')}'

count_on_bus() {
  count=0
  for device in /sys/bus/pci/devices/*; do
    id="$(sed s/^0x// "$device/vendor"):$(sed s/^0x// "$device/device")"
    case " $accelerators " in *" $id "*) count=$((count + 1)) ;; esac
  done
  echo "$count"
}
count_gpus() {
  if ! command -v nvidia-smi >/dev/null 2>&1; then count_on_bus
  elif list="$(nvidia-smi -L 2>/dev/null)"; then echo "$list" | grep -c '^GPU '
  else echo null; fi
}
is_key_final() { [ ! -d /var/lib/cloud/instance ] || [ -e /var/lib/cloud/instance/sem/config_ssh ]; }
is_listening() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':0016 [0-9A-F:]* 0A '; }

until is_key_final && is_listening; do sleep 1; done
while :; do
  for type in ed25519 ecdsa rsa; do
    file=/etc/ssh/ssh_host_\${type}_key.pub
    [ -r "$file" ] && break
  done
  key="$(cut -d ' ' -f 1,2 "$file" 2>/dev/null)"
  [ -n "$key" ] && [ -w "$port" ] &&
    printf '\\n{"schema":1,"ssh_host_key":"%s","gpu_count":%s}\\n' "$key" "$(count_gpus)" >"$port"
  sleep 2
done
`;

/**
 * Run early on every boot, before anything of the tenant's could fail or hang. The script itself comes with the files of
 * the first boot, which are written a moment later.
 */
export const REPORT_START = [
  'sh',
  '-c',
  `wait='until [ -x ${REPORT_PATH} ]; do sleep 1; done; exec ${REPORT_PATH}'; ` +
    'if command -v systemd-run >/dev/null 2>&1; ' +
    'then systemd-run --no-block --collect --unit=gpuaas-report --property=Restart=always sh -c "$wait"; ' +
    'else setsid sh -c "$wait" </dev/null >/dev/null 2>&1 & fi',
] as const;
