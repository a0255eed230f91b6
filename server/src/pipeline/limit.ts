/** Refuses changes above a limit of the contract, in the transaction that would make them. */
import { type CountedLimit, fullRefusal, limitsOf } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import type { WriteCtx } from '../context.ts';
import { countTowards, holdLimit } from '../db/limit.ts';
import { AppError } from '../errors.ts';

/** `id`: the organization or user that the limit is for. */
export const assertBelowLimit = async (
  { tx, deps, operation }: Pick<WriteCtx, 'tx' | 'deps' | 'operation'>,
  limit: CountedLimit,
  id: string,
): Promise<void> => {
  invariant(limitsOf(operation).includes(limit), `limit ${limit} declares operation ${operation}`);
  const max = deps.config.limits[limit];
  const [, used] = await Promise.all([holdLimit(tx, limit, id), countTowards(tx, limit, id)]);
  const refusal = fullRefusal(limit, used, max);
  if (refusal !== null) throw new AppError('limit_exceeded', refusal);
};
