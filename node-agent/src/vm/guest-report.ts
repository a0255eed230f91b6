/**
 * The guest report and its protocol. A virtio-serial port carries lines of JSON, outwards only: the guest OS writes,
 * blocked while the host does not read; the host connects to the port's socket, reads the last complete line and
 * disconnects. Nothing is stored in between: no file can fill up or become stale, and a host key is reported only once
 * it is final. An image may declare checks by name, which its own program answers, one line each. They run beside the
 * report, repeatedly until all pass, because a driver may take long. The guest OS is controlled by the tenant. Its
 * report is an untrusted claim about itself, parsed with limits and a grammar, and used only for reaching the VM and
 * for its readiness.
 */

import type { GuestCheck, GuestReport } from '../host/host.ts';
import { GPU_VENDORS } from '../host/linux/gpu/vendors.ts';
import { DATA_DISKS_RESULT } from './data-disks.ts';
import { checkName, pciId, sshPublicKey } from './grammar.ts';

export const REPORT_CHANNEL = 'org.gpuaas.report';
export const REPORT_PATH = '/usr/local/sbin/gpuaas-report';
/** A longer line is not a report. */
export const REPORT_BYTES_MAX = 16 * 1024;
/** A guest OS sends one line every other second, and the host reads for about as long. */
const RECEIVED_BYTES_MAX = 8 * REPORT_BYTES_MAX;
const TRIES_MAX = 8;
/** The shortest line that contains a host key. */
const LINE_BYTES_MIN = 40;
const NEWLINE = 0x0a;

/**
 * Where cloud-init would disable password login and then restart sshd. Written before sshd starts, so that cloud-init
 * has nothing to change and early logins are not interrupted.
 */
export const SSHD_SETTINGS_PATH = '/etc/ssh/sshd_config.d/50-cloud-init.conf';
export const SSHD_SETTINGS = 'PasswordAuthentication no\n';

/** The program of an image for its checks: `readiness NAME...` prints `ok NAME` or `not ok NAME: why`. */
export const READINESS_PATH = '/usr/local/lib/gpuaas/readiness';

const GPUS_MAX = 64;
/** Those of the image, and the platform's own. */
const CHECKS_MAX = 33;
const CHECK = /^(not )?ok ([a-z][a-z0-9_]{0,31})(?:: ([ -~]{1,160}))?$/;

const checksOf = (report: unknown): readonly GuestCheck[] =>
  (Array.isArray(report) ? report : []).slice(0, CHECKS_MAX).flatMap((line: unknown) => {
    const [, not, name = '', why = null] = (typeof line === 'string' && CHECK.exec(line)) || [];
    return name === '' ? [] : [{ name, is_ok: not === undefined, why }];
  });

const reportOf = (line: string): GuestReport | null => {
  let report: unknown;
  try {
    report = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof report !== 'object' || report === null) return null;
  const { schema, ssh_host_key: key, gpu_count: gpus, checks } = report as Readonly<Record<string, unknown>>;
  if (schema !== 1 || typeof key !== 'string') return null;
  const isCount = Number.isInteger(gpus) && (gpus as number) >= 0 && (gpus as number) <= GPUS_MAX;
  if (gpus !== null && !isCount) return null;
  try {
    return { ssh_host_key: sshPublicKey(key), gpu_count: gpus as number | null, checks: checksOf(checks) };
  } catch {
    return null;
  }
};

export type ReportReader = Readonly<{
  /** The last complete valid line so far; lines that are cut off at either end do not count. */
  read(chunk: Buffer): GuestReport | null;
  /** It has sent so many invalid lines that the rest is ignored. */
  isSpent(): boolean;
}>;

/**
 * Reads one guest OS with bounded cost: each line is checked once when it ends, a line too short for a report is not
 * parsed, and the number of parsed lines is limited.
 */
export const createReportReader = (): ReportReader => {
  let rest = Buffer.alloc(0);
  let bytes = 0;
  let tries = 0;
  const isSpent = (): boolean => tries >= TRIES_MAX || bytes >= RECEIVED_BYTES_MAX;
  const tryLine = (line: Buffer): GuestReport | null => {
    if (line.length < LINE_BYTES_MIN || tries >= TRIES_MAX) return null;
    tries++;
    return reportOf(line.toString('utf8'));
  };
  return {
    isSpent,
    read: (chunk) => {
      bytes += chunk.length;
      const received = Buffer.concat([rest, chunk]).subarray(-REPORT_BYTES_MAX);
      let end = chunk.includes(NEWLINE) ? received.lastIndexOf(NEWLINE) : -1;
      rest = received.subarray(end + 1);
      while (end >= 0 && tries < TRIES_MAX) {
        const start = end === 0 ? 0 : received.lastIndexOf(NEWLINE, end - 1) + 1;
        const report = tryLine(received.subarray(start, end));
        if (report !== null) return report;
        end = start - 1;
      }
      return null;
    },
  };
};

/** A tool of the vendor that cannot list the GPUs makes their number unknown. */
const COUNT_BY_TOOL = GPU_VENDORS.flatMap(({ guest_count: by }) =>
  by === null
    ? []
    : `  if command -v ${by.program} >/dev/null 2>&1; then
    if list="$(${by.program} ${by.flag} 2>/dev/null)"; then echo "$list" | grep -c '^${by.line}'; else echo null; fi
    return
  fi`,
).join('\n');

/**
 * The host key counts once cloud-init has generated it and sshd listens; otherwise the first client would see the key
 * of the image. It also counts only when sshd is not restarted any more, which its start time shows, or else cloud-init
 * having applied its settings. The tenant's own user data runs after that, and nothing waits for it. GPUs are counted
 * by the driver if there is one (not at all while it does not respond), otherwise on the bus. POSIX sh and /proc,
 * because images differ; few programs, because an emulated guest is slow.
 */
export const reportScript = (
  accelerators: readonly string[],
  checks: readonly string[] = [],
  own: readonly string[] = [],
): string => `#!/bin/sh
# Reports to the host: the SSH host key of this VM, its GPU count and the readiness checks of its image.
port=/dev/virtio-ports/${REPORT_CHANNEL}
accelerators='${accelerators.map(pciId).join(' ')}'
checks='${checks.map(checkName).join(' ')}'
own='${own.map(checkName).join(' ')}'
answers=/run/gpuaas-checks

count_on_bus() {
  count=0
  for device in /sys/bus/pci/devices/*; do
    read -r vendor <"$device/vendor" && read -r id <"$device/device" || continue
    case " $accelerators " in *" \${vendor#0x}:\${id#0x} "*) count=$((count + 1)) ;; esac
  done
  echo "$count"
}
count_gpus() {
${COUNT_BY_TOOL}
  count_on_bus
}
judge() {
  {
    [ -z "$own" ] || cat ${DATA_DISKS_RESULT} 2>/dev/null
    if [ -z "$checks" ]; then :
    elif [ -x ${READINESS_PATH} ]; then ${READINESS_PATH} $checks </dev/null 2>/dev/null
    else for check in $checks; do echo "not ok $check: the image has no ${READINESS_PATH}"; done; fi
  } |
    sed -e 's/[^A-Za-z0-9 _.,:()\\/-]//g' -e 's/^\\(.\\{200\\}\\).*/\\1/' -e 's/.*/"&"/' | head -n ${CHECKS_MAX}
}
judge_until_all_hold() {
  while :; do
    judge >"$answers.new"
    mv "$answers.new" "$answers"
    [ "$(grep -c '^"ok ' "$answers")" -ge "$(echo "$own $checks" | wc -w)" ] && break
    sleep 5
  done
}
is_set_up() {
  [ ! -e /run/cloud-init/status.json ] ||
    sed -n '/"modules-config"/,/}/p' /run/cloud-init/status.json | grep -q '"finished": [0-9]'
}
# The server began after its key was made, and its settings are what cloud-init would make of them: it is not restarted.
is_settled() {
  [ -s ${SSHD_SETTINGS_PATH} ] && [ /run/sshd.pid -nt /var/lib/cloud/instance/sem/config_ssh ] &&
    grep -q '^Include /etc/ssh/sshd_config.d/' /etc/ssh/sshd_config
}
is_key_final() {
  [ ! -d /var/lib/cloud/instance ] ||
    { [ -e /var/lib/cloud/instance/sem/config_ssh ] && { is_settled || is_set_up; }; }
}
is_listening() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':0016 [0-9A-F:]* 0A '; }

until is_key_final && is_listening; do sleep 1; done
rm -f "$answers"
[ -z "$own$checks" ] || judge_until_all_hold &
while :; do
  for type in ed25519 ecdsa rsa; do
    file=/etc/ssh/ssh_host_\${type}_key.pub
    [ -r "$file" ] && break
  done
  key="$(cut -d ' ' -f 1,2 "$file" 2>/dev/null)"
  [ -n "$key" ] && [ -w "$port" ] &&
    printf '\\n{"schema":1,"ssh_host_key":"%s","gpu_count":%s,"checks":[%s]}\\n' "$key" "$(count_gpus)" \
      "$([ ! -r "$answers" ] || tr '\\n' , <"$answers" | sed 's/,$//')" >"$port"
  sleep 2
done
`;

/**
 * Run early on every boot, before anything of the tenant's could fail or hang. The script itself comes with the files
 * of the first boot, which are written a moment later.
 */
export const REPORT_START = [
  'sh',
  '-c',
  `wait='until [ -x ${REPORT_PATH} ]; do sleep 1; done; exec ${REPORT_PATH}'; ` +
    'if command -v systemd-run >/dev/null 2>&1; ' +
    'then systemd-run --no-block --collect --unit=gpuaas-report --property=Restart=always sh -c "$wait"; ' +
    'else setsid sh -c "$wait" </dev/null >/dev/null 2>&1 & fi',
] as const;
