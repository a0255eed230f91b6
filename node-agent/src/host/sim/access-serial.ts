/**
 * The serial console of a simulated VM: its output since boot, and a login that always fails, because images have no
 * passwords. All clients share one console and see what the others type.
 */
import { Readable } from 'node:stream';
import type { SerialLine } from '../host.ts';

export type Boot = Readonly<{
  hostname: string;
  kernel: string;
  gpus: readonly string[];
  /** False: its disk has nothing to boot. */
  has_system: boolean;
  /** Booted up to the login prompt. */
  is_up: boolean;
  /** Changes with each boot. */
  id: string;
}>;

export type Serial = Readonly<{
  open(): SerialLine;
  /** Null: the VM is off; connected clients read to the end. */
  setBoot(boot: Boot | null): void;
}>;

const HISTORY_BYTES = 64 * 1024;
/** A viewer that does not read misses output; its buffer is limited. */
const UNREAD_MAX = 1024 * 1024;

export const bootLines = ({ kernel, gpus, has_system: hasSystem }: Boot): readonly string[] =>
  hasSystem
    ? [
        `[    0.000000] Linux version ${kernel}`,
        '[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz root=LABEL=cloudimg-rootfs ro console=ttyS0',
        '[    0.412031] virtio_net virtio0 ens3: renamed from eth0',
        ...gpus.map((gpu, index) => `[    1.${String(207_310 + index * 4111)}] nvidia ${gpu}: enabling device`),
        '[    2.018844] EXT4-fs (vda1): mounted filesystem with ordered data mode',
        '[    3.310276] systemd[1]: Reached target network-online.target - Network is Online.',
        '[    4.902517] cloud-init: finished',
      ]
    : ['Booting from Hard Disk...', 'Boot failed: not a bootable disk', 'No bootable device.'];

export const createSerial = (onDeserted: () => void): Serial => {
  const viewers = new Set<Readable>();
  let history = Buffer.alloc(0);
  let boot: Boot | null = null;
  let asks: 'nothing' | 'name' | 'password' = 'nothing';
  let typed = '';

  const say = (text: string): void => {
    const bytes = Buffer.from(text.replaceAll('\n', '\r\n'));
    history = Buffer.concat([history, bytes]).subarray(-HISTORY_BYTES);
    for (const viewer of viewers) if (viewer.readableLength < UNREAD_MAX) viewer.push(bytes);
  };
  const askName = (): void => {
    asks = 'name';
    typed = '';
    say(`\nUbuntu 24.04.1 LTS ${boot?.hostname ?? ''} ttyS0\n\n${boot?.hostname ?? ''} login: `);
  };
  const answer = (): void => {
    const isNamed = asks === 'name' && typed !== '';
    say(asks === 'name' ? '\n' : '\n\nLogin incorrect\n');
    if (!isNamed) {
      askName();
      return;
    }
    asks = 'password';
    typed = '';
    say('Password: ');
  };
  const type = (char: string): void => {
    if (asks === 'nothing') return;
    if (char === '\r' || char === '\n') answer();
    else if (char === '\x7f' || char === '\b') {
      if (typed !== '' && asks === 'name') say('\b \b');
      typed = [...typed].slice(0, -1).join('');
    } else if (char >= ' ' && typed.length < 64) {
      typed += char;
      if (asks === 'name') say(char);
    }
  };

  return {
    setBoot: (next) => {
      if (next === null) {
        boot = null;
        asks = 'nothing';
        history = Buffer.alloc(0);
        for (const viewer of viewers) viewer.push(null);
        viewers.clear();
        onDeserted();
        return;
      }
      const isNew = boot?.id !== next.id;
      const wasUp = !isNew && boot?.is_up === true;
      boot = next;
      if (isNew) {
        asks = 'nothing';
        say(`${bootLines(next).join('\n')}\n`);
      }
      if (next.is_up && !wasUp) askName();
    },
    open: () => {
      const output = new Readable({ read: () => undefined });
      output.once('close', () => {
        if (viewers.delete(output) && viewers.size === 0) onDeserted();
      });
      if (history.length > 0) output.push(history);
      viewers.add(output);
      return {
        output,
        write: async (bytes) => {
          for (const char of bytes.toString()) type(char);
        },
        close: () => void output.destroy(),
      };
    },
  };
};
