/** The clock of the database, for operators. The rule is in `domain/clock-guard.ts`. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { countAgentClocks, endClockHold, findClockGuard, readClock } from '../db/clock-guard.ts';
import { REASONS } from '../domain/reasons.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict } from '../errors.ts';
import { callerId, resourceChanged } from '../pipeline/caller.ts';

const status = async (reader: Reader) => {
  const [guard, clock, { expected: _, ...agents }] = await Promise.all([
    findClockGuard(reader),
    readClock(reader),
    countAgentClocks(reader),
  ]);
  const is_held = !clock.is_trusted;
  return {
    is_held,
    database_time: clock.database_time,
    checked_at: guard?.seen_at ?? null,
    held_since: guard?.hold_since ?? null,
    reason: guard?.reason ?? (is_held ? REASONS.clock_unchecked : null),
    jump_ms: guard?.jump_ms ?? null,
    agents,
    ended_at: guard?.ended_at ?? null,
    ended_by: guard?.ended_by ?? null,
    version: guard?.version ?? 0,
  };
};

export const get = (ctx: ReadCtx) => ctx.read(status);

export const confirm = async (ctx: WriteCtx, { body, if_match }: RequestOf<PublicApi['adminClockConfirm']>) => {
  const before = await status(ctx.tx);
  if (before.version === if_match && !before.is_held) throw conflict(REFUSALS.clock_not_held);
  if ((await endClockHold(ctx.tx, if_match, callerId(ctx))) === undefined) throw resourceChanged(before.version);
  ctx.target('clock', 'database');
  ctx.note({ held_because: before.reason, jump_ms: before.jump_ms, reason: body.reason });
  return status(ctx.tx);
};
