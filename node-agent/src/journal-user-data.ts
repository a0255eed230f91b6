/**
 * What a tenant tells its machine may hold its passwords. The journal needs it until the task that brought it is done, and
 * not a moment longer: the disks of a tenant who has gone are proven erased, and the host's own must not remember instead.
 * A redelivery is judged by the hash of what was accepted, so the line stays and only the words go.
 */
import type { TaskPayload } from '@gpuaas/contract/node';

const paramsOf = (payload: TaskPayload): Readonly<{ user_data?: unknown }> => payload.params;

export const hasUserData = (payload: TaskPayload): boolean => typeof paramsOf(payload).user_data === 'string';

export const withoutUserData = (payload: TaskPayload): TaskPayload =>
  hasUserData(payload)
    ? { ...payload, params: { ...payload.params, user_data: null } as TaskPayload['params'] }
    : payload;
