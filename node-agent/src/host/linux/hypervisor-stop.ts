/**
 * How a guest is asked to go down: by the power button, until it is off or its time is over. Its time is the clock's, with
 * whatever libvirt takes to answer, because whoever asked waits for that as well; one that waits no longer ends the asking.
 */
import { pause } from '@gpuaas/kit';
import { type Domain, HostError } from '../host.ts';
import type { Virsh } from './hypervisor-virsh.ts';

const POLL_MS = 250;
/** A guest that was not up yet did not hear it. */
const ASK_AGAIN_MS = 5_000;

export type Asking = Readonly<{
  virsh: Pick<Virsh, 'tell' | 'state'>;
  signal?: AbortSignal | undefined;
  /** A clock that is never set. */
  now?: () => number;
  rest?: (ms: number, signal?: AbortSignal) => Promise<void>;
}>;

export const isDown = (state: Domain['state'] | null): boolean => state === null || state === 'shut_off';

/** Whether it went down. Given up, it stays as it is: asked, and not switched off. */
export const askToStop = async (
  { virsh, signal, now = () => performance.now(), rest = pause }: Asking,
  uuid: string,
  graceS: number,
): Promise<boolean> => {
  const deadline = now() + graceS * 1000;
  let askedAt = Number.NEGATIVE_INFINITY;
  while (now() < deadline) {
    if (now() - askedAt >= ASK_AGAIN_MS) {
      askedAt = now();
      await virsh.tell('shutdown', uuid);
    }
    await rest(Math.max(0, Math.min(POLL_MS, deadline - now())), signal);
    if (isDown(await virsh.state(uuid))) return true;
    if (signal?.aborted === true) throw new HostError('timeout', `the wait for ${uuid} to shut down was canceled.`);
  }
  return false;
};
