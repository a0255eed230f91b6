/**
 * Shuts a guest OS down by the power button until it is off or the time is over. The time includes libvirt's delays,
 * because the caller waits for those too. A caller that stops waiting ends the shutdown requests.
 */
import { pause } from '@gpuaas/kit';
import { type Domain, HostError } from '../host.ts';
import type { Virsh } from './hypervisor-virsh.ts';

const POLL_MS = 250;
/** A guest OS that was still booting did not receive it. */
const REPEAT_MS = 5_000;

export type ShutdownRequest = Readonly<{
  virsh: Pick<Virsh, 'request' | 'state'>;
  signal?: AbortSignal | undefined;
  /** A monotonic clock. */
  now?: () => number;
  rest?: (ms: number, signal?: AbortSignal) => Promise<void>;
}>;

export const isDown = (state: Domain['state'] | null): boolean => state === null || state === 'shut_off';

/** Whether it shut down. If aborted, the VM is left as it is and not powered off. */
export const requestShutdown = async (
  { virsh, signal, now = () => performance.now(), rest = pause }: ShutdownRequest,
  uuid: string,
  graceS: number,
): Promise<boolean> => {
  const deadline = now() + graceS * 1000;
  let askedAt = Number.NEGATIVE_INFINITY;
  while (now() < deadline) {
    if (now() - askedAt >= REPEAT_MS) {
      askedAt = now();
      await virsh.request('shutdown', uuid);
    }
    await rest(Math.max(0, Math.min(POLL_MS, deadline - now())), signal);
    if (isDown(await virsh.state(uuid))) return true;
    if (signal?.aborted === true) throw new HostError('timeout', `the wait for ${uuid} to shut down was cancelled.`);
  }
  return false;
};
