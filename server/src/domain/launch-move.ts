/**
 * When a launch moves to another host. A host task that failed says something about its host, unless the request itself
 * was at fault: another host would refuse that as well. A launch is tried on a bounded number of hosts.
 *
 * Blame is narrower than the move. User data of the tenant runs in the guest OS and can keep it from becoming ready, so a
 * tenant must not be able to stop placement on healthy hosts with it.
 */
import type { TaskKind } from '@gpuaas/contract/node';

/** Including the first. */
export const LAUNCH_HOSTS_MAX = 3;

export type FailedLaunchTask = Readonly<{
  kind: TaskKind;
  /** Null when the task expired or the agent gave none. */
  error_code: string | null;
  has_user_data: boolean;
}>;

/** The request itself cannot be served by any host. */
const isRequestAtFault = ({ kind, error_code, has_user_data }: FailedLaunchTask): boolean =>
  error_code === 'bad_params' || (has_user_data && kind === 'slice.vm_start' && error_code === 'blocked');

/** Whether the failure says something about the host. */
export const isHostAtFault = (task: FailedLaunchTask): boolean =>
  !isRequestAtFault(task) &&
  // `drift` is the hardware that the guest OS found, not what runs in it.
  !(task.has_user_data && task.kind === 'slice.vm_readiness' && task.error_code !== 'drift');

/** Why the launch fails here and now, after the sentence of its step; null when another host may be tried. */
export const moveRefusal = (task: FailedLaunchTask, hostsTried: number): string | null => {
  if (isRequestAtFault(task)) return 'Another host would refuse it as well.';
  return hostsTried >= LAUNCH_HOSTS_MAX ? `It was tried on ${hostsTried} hosts.` : null;
};

export const NO_OTHER_HOST = 'No other host has the capacity for it now.';
export const MOVING = 'The launch moves to another host.';
