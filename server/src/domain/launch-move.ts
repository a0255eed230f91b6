/**
 * When a launch moves to another host. A host task that failed says something about its host, unless the request itself
 * was at fault: another host would refuse that as well. A launch is tried on a bounded number of hosts.
 *
 * User data of the tenant runs in the guest OS, so what such a guest OS reports is the tenant's word. With it a tenant
 * must be able neither to stop placement on healthy hosts nor to hold GPUs on one host after another.
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

/** All that is known is what a guest OS of the tenant's making did or said. */
const isGuestAtFault = ({ kind, has_user_data }: FailedLaunchTask): boolean =>
  has_user_data && kind === 'slice.vm_readiness';

/** Whether the failure says something about the host. */
export const isHostAtFault = (task: FailedLaunchTask): boolean => !isRequestAtFault(task) && !isGuestAtFault(task);

/** Why the launch fails here and now, after the sentence of its step; null when another host may be tried. */
export const moveRefusal = (task: FailedLaunchTask, hostsTried: number): string | null => {
  if (isRequestAtFault(task)) return 'Another host would refuse it as well.';
  if (isGuestAtFault(task)) return 'Its user data may be the cause, so no other host is tried.';
  return hostsTried >= LAUNCH_HOSTS_MAX ? `It was tried on ${hostsTried} hosts.` : null;
};

export const NO_OTHER_HOST = 'No other host has the capacity for it now.';
export const MOVING = 'The launch moves to another host.';
