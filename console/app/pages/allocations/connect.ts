/** How one gets in: which way is open now, and what is checked before anything is typed. */
import type { Allocation } from '@gpuaas/sdk';

type Facts = Pick<Allocation, 'capacity_shape' | 'state' | 'power'>;

const NOT_YET = 'The allocation is starting. Wait until it is active.';
const OVER: Readonly<Partial<Record<Allocation['state'], string>>> = {
  releasing: 'Release is in progress. Connections are closed.',
  release_failed: 'The allocation was released. Connections are closed.',
  released: 'The allocation is released. Launch another.',
  failed: 'The allocation failed. Launch another.',
};
const OFF = 'The VM is off. Start it first.';

/** Why terminal, SSH and port forwarding are not available now. The server decides; this explains it in advance. */
export const connectRefusal = ({ capacity_shape, state, power }: Facts): string | null => {
  const over = OVER[state];
  if (over !== undefined) return over;
  if (state !== 'active') return NOT_YET;
  if (capacity_shape === 'baremetal' || power === null || power.state === 'on' || power.state === 'unknown')
    return null;
  return power.state === 'off' ? OFF : `The VM is ${power.state}. Wait for it to finish, or open the serial console.`;
};

/** The serial console is available earlier, to debug a VM that does not boot. */
export const consoleRefusal = ({ capacity_shape, state, power }: Facts): string | null => {
  const over = OVER[state];
  if (over !== undefined) return over;
  if (capacity_shape === 'baremetal') return 'Bare metal has no serial console here. Open a terminal or use SSH.';
  if (state === 'requested') return NOT_YET;
  return power?.state === 'off' ? OFF : null;
};

/** The name under which `gpuaas ssh-config --write` makes it known to ssh. */
export const sshHostName = (name: string): string => `gpuaas-${name}`;

/** `SHA256:…` as ssh prints it when it first sees the key; null if the browser cannot compute it or the key is invalid. */
export const hostKeyFingerprint = async (hostKey: string): Promise<string | null> => {
  const encoded = hostKey.split(' ')[1] ?? '';
  try {
    const blob = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    if (blob.length === 0) return null;
    const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', blob));
    return `SHA256:${btoa(String.fromCharCode(...digest)).replace(/=+$/, '')}`;
  } catch {
    return null;
  }
};
