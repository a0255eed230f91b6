/**
 * The control plane's keys in a running guest OS. A second virtio-serial port goes inwards: the guest OS writes
 * `ready`, which blocks until the host is connected. The host sends one complete set after its length and digest. The
 * guest OS writes `done` with that digest once the set is in the account's file. An incomplete set has another digest
 * and changes nothing. So a change applies at once, without polling. Only the control plane's set is replaced. The
 * guest OS stores it in a separate file, which starts with the keys of the launch; lines that the tenant added stay
 * unchanged. The old and the new set are both stored while the file is written, so a crash in between leaves no key
 * that would never be removed.
 */
import { createHash } from 'node:crypto';
import { HostError } from '../host/host.ts';
import { sshPublicKey, username } from './grammar.ts';

export const KEYS_CHANNEL = 'org.gpuaas.keys';
export const KEYS_PATH = '/usr/local/sbin/gpuaas-keys';
/** A hundred of the longest keys, plus session keys. */
export const KEYS_BYTES_MAX = 2 * 1024 * 1024;

/** The options of a session key: it opens a shell and nothing else. */
export const SESSION_KEY_OPTIONS = 'no-port-forwarding,no-agent-forwarding,no-X11-forwarding';

/** A line of the set: a key of the control plane, or a session key after its options. No others are written. */
export const authorizedKey = (line: string): string => {
  const prefix = `${SESSION_KEY_OPTIONS} `;
  return line.startsWith(prefix) ? `${prefix}${sshPublicKey(line.slice(prefix.length))}` : sshPublicKey(line);
};

/** Each key once; the same set gives the same text. */
export const keysText = (keys: readonly string[]): string => {
  const text = [...new Set(keys.map(authorizedKey))].map((line) => `${line}\n`).join('');
  if (Buffer.byteLength(text) > KEYS_BYTES_MAX)
    throw new HostError('blocked', `the keys are larger than ${KEYS_BYTES_MAX} bytes together`);
  return text;
};

export type KeysMessage = Readonly<{ bytes: Buffer; confirmation: string; refusal: string }>;

/** The message to a guest OS that is ready, and its possible responses. */
export const keysMessage = (keys: readonly string[], mark: string): KeysMessage => {
  const text = Buffer.from(keysText(keys));
  const digest = createHash('sha256').update(text).digest('hex');
  return {
    bytes: Buffer.concat([Buffer.from(`set ${mark} ${text.length} ${digest}\n`), text]),
    confirmation: `done ${mark} ${digest}`,
    refusal: `failed ${mark}`,
  };
};

/**
 * POSIX sh, for busybox too. Lines of the file are compared as a whole; the set comes first, because the tenant's last
 * line may have no line break. The host may change the account's keys only after cloud-init has written those of the
 * launch.
 */
export const keysScript = (account: string, launchKeys: readonly string[]): string => `#!/bin/sh
# Keeps the keys of this machine's account as the platform has them; lines of your own in authorized_keys stay.
port=/dev/virtio-ports/${KEYS_CHANNEL}
user='${username(account)}'
known=/etc/gpuaas/authorized_keys
umask 077

field() { sed -n "s/^$user:[^:]*:\\([^:]*\\):\\([^:]*\\):[^:]*:\\([^:]*\\):.*/\\\\$1/p" /etc/passwd; }
is_set_up() {
  grep -q "^$user:" /etc/passwd &&
    { [ ! -d /var/lib/cloud/instance ] || [ -e /var/lib/cloud/instance/sem/config_ssh ]; }
}
first_set() {
  cat <<'KEYS'
${keysText(launchKeys)}KEYS
}
apply() {
  home="$(field 3)"
  file="$home/.ssh/authorized_keys"
  mkdir -p "$home/.ssh" &&
    {
      cat "$known.new"
      if [ ! -e "$file" ]; then :
      elif [ -s "$known" ]; then grep -vxFf "$known" "$file"
      else cat "$file"; fi
      :
    } >"$file.gpuaas" &&
    chown "$(field 1):$(field 2)" "$home/.ssh" "$file.gpuaas" && chmod 700 "$home/.ssh" && chmod 600 "$file.gpuaas" &&
    cat "$known" "$known.new" >"$known.both" && mv -f "$known.both" "$known" &&
    mv -f "$file.gpuaas" "$file" && mv -f "$known.new" "$known"
}

until is_set_up && [ -e "$port" ]; do sleep 1; done
mkdir -p "\${known%/*}"
[ -e "$known" ] || { first_set >"$known.new" && mv -f "$known.new" "$known"; }
exec 3<>"$port"
while :; do
  echo ready >&3 || { sleep 1; continue; }
  read -r word mark bytes digest <&3 || continue
  [ "$word" = set ] || continue
  case "$mark" in '' | *[!0-9a-f]*) continue ;; esac
  case "$bytes" in '' | *[!0-9]* | ????????*) continue ;; esac
  [ "$bytes" -le ${KEYS_BYTES_MAX} ] || continue
  head -c "$bytes" <&3 >"$known.new"
  [ "$(sha256sum <"$known.new" | cut -d ' ' -f 1)" = "$digest" ] || continue
  if apply; then echo "done $mark $digest" >&3; else echo "failed $mark" >&3; fi
done
`;

/** Run early on every boot, like the report; the script comes with the files of the first boot. */
export const KEYS_START = [
  'sh',
  '-c',
  `wait='until [ -x ${KEYS_PATH} ]; do sleep 1; done; exec ${KEYS_PATH}'; ` +
    'if command -v systemd-run >/dev/null 2>&1; ' +
    'then systemd-run --no-block --collect --unit=gpuaas-keys --property=Restart=always --property=RestartSec=2 ' +
    'sh -c "$wait"; ' +
    'else setsid sh -c "$wait" </dev/null >/dev/null 2>&1 & fi',
] as const;
