/**
 * User data may contain passwords of the tenant. The journal needs it until its task is done and no longer: the
 * tenant's disks are proven wiped, and the host's own disk must not keep a copy. A redelivery is compared by the hash
 * of the accepted content, so the line stays and only the user data is removed.
 */
import type { TaskPayload } from '@gpuaas/contract/node';

const paramsOf = (payload: TaskPayload): Readonly<{ user_data?: unknown }> => payload.params;

export const hasUserData = (payload: TaskPayload): boolean => typeof paramsOf(payload).user_data === 'string';

export const withoutUserData = (payload: TaskPayload): TaskPayload =>
  hasUserData(payload)
    ? { ...payload, params: { ...payload.params, user_data: null } as TaskPayload['params'] }
    : payload;
