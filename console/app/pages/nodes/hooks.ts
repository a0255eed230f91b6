import { type CallId, type GpuaasError, type NodeTask, OPEN_TASK_STATES } from '@gpuaas/sdk';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { RequestOf, ResponseOf } from '../../api/call.ts';
import { useRead } from '../../api/read.ts';

const BUSY_MS = 1_000;
const FLOOR_MS = 10_000;

/** Polls every second while a task runs, because progress emits no events, and rarely otherwise. */
export const useWatched = <K extends CallId>(
  id: K,
  request: RequestOf<K>,
  isBusy: (data: ResponseOf<K>) => boolean,
): UseQueryResult<ResponseOf<K>, GpuaasError> => {
  const [isFast, setFast] = useState(false);
  const query = useRead(id, request, { everyMs: isFast ? BUSY_MS : FLOOR_MS });
  const wanted = query.data !== undefined && isBusy(query.data);
  if (wanted !== isFast) setFast(wanted);
  return query;
};

export const isTaskOpen = ({ state }: Pick<NodeTask, 'state'>): boolean =>
  OPEN_TASK_STATES.some((open) => open === state);

/** Nothing exists yet, which is not an error. */
export const isMissing = (error: GpuaasError | null): boolean => error?.code === 'not_found';
