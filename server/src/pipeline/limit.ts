/** Refuses changes above a limit of the contract, in the transaction that would make them. */
import { type CountedLimit, limitRefusal } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { countTowards, holdLimit } from '../db/limit.ts';
import { AppError } from '../errors.ts';

/** `id`: the organization or user that the limit is for. */
export const assertBelowLimit = async (
  { tx, deps }: Pick<WriteCtx, 'tx' | 'deps'>,
  limit: CountedLimit,
  id: string,
): Promise<void> => {
  const max = deps.config.limits[limit];
  const [, used] = await Promise.all([holdLimit(tx, limit, id), countTowards(tx, limit, id)]);
  if (used >= max) throw new AppError('limit_exceeded', limitRefusal(limit, max));
};
