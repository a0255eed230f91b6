/**
 * When a launch moves to another host. A host task that failed says something about its host, unless the request itself
 * was at fault: another host would refuse that as well. A launch is tried on a bounded number of hosts.
 *
 * An image that a host refuses may be broken at its source, or only for this host. A second host decides: if it refuses
 * the image as well, the image is at fault; if it uses the image, the first host was.
 *
 * User data of the tenant runs in the guest OS, so what such a guest OS reports is the tenant's word. With it a tenant
 * must be able neither to stop placement on healthy hosts nor to hold GPUs on one host after another. So it blames no
 * host, and moves a launch to one other host at most; and only while no host that a launch of the organization left is
 * being cleaned up, because what is claimed there is beyond the quota. A host that fails such launches by itself then
 * does not fail each of them for the tenant.
 */
import type { TaskKind } from '@gpuaas/contract/node';

/** Including the first. */
export const LAUNCH_HOSTS_MAX = 3;
/** Of a launch whose guest OS runs user data and does not become ready. */
export const GUEST_HOSTS_MAX = 2;

export type FailedLaunchTask = Readonly<{
  kind: TaskKind;
  /** Null when the task expired or the agent gave none. */
  error_code: string | null;
  has_user_data: boolean;
  /** Hosts that refused the image of this launch earlier. */
  image_refusals: number;
}>;

export const IMAGE_REFUSALS_MAX = 2;

/** The request itself cannot be served by any host. */
const isRequestAtFault = ({ kind, error_code, has_user_data }: FailedLaunchTask): boolean =>
  error_code === 'bad_params' || (has_user_data && kind === 'slice.vm_start' && error_code === 'blocked');

/** All that is known is what a guest OS of the tenant's making did or said. */
export const isGuestAtFault = ({ kind, has_user_data }: Pick<FailedLaunchTask, 'kind' | 'has_user_data'>): boolean =>
  has_user_data && kind === 'slice.vm_readiness';

const isImageRefused = ({ error_code }: FailedLaunchTask): boolean => error_code === 'bad_image';

export const isImageAtFault = (task: FailedLaunchTask): boolean =>
  isImageRefused(task) && task.image_refusals + 1 >= IMAGE_REFUSALS_MAX;

/** Whether the failure says something about the host. For a refused image that is not known yet. */
export const isHostAtFault = (task: FailedLaunchTask): boolean =>
  !isRequestAtFault(task) && !isGuestAtFault(task) && !isImageRefused(task);

export type TriedHosts = Readonly<{
  /** Including the one that failed now. */
  count: number;
  /** A host that some launch of the organization left is not proven wiped yet. */
  is_one_left: boolean;
}>;

const guestRefusal = ({ error_code }: FailedLaunchTask, { count, is_one_left }: TriedHosts): string | null => {
  // Such a report keeps a host that the launch left from its wipe until an operator has checked it. A tenant must not.
  if (error_code === 'drift') return 'Its user data may be the cause, so no other host is tried.';
  if (count >= GUEST_HOSTS_MAX) return `Its user data may be the cause: it was tried on ${count} hosts.`;
  return is_one_left
    ? 'Its user data may be the cause. No other host is tried while a host that a launch left is cleaned up.'
    : null;
};

/** Why the launch fails here and now, after the sentence of its step; null when another host may be tried. */
export const moveRefusal = (task: FailedLaunchTask, tried: TriedHosts): string | null => {
  if (isRequestAtFault(task)) return 'Another host would refuse it as well.';
  if (isGuestAtFault(task)) return guestRefusal(task, tried);
  if (isImageAtFault(task))
    return `${IMAGE_REFUSALS_MAX} hosts refused the image. Choose another image; operators see the cause.`;
  return tried.count >= LAUNCH_HOSTS_MAX ? `It was tried on ${tried.count} hosts.` : null;
};

export const NO_OTHER_HOST = 'No other host has the capacity for it now.';
export const MOVING = 'The launch moves to another host.';
