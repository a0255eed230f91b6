/** The invariant queries, run when an operator asks. */
import type { ReadCtx } from '../context.ts';
import { INVARIANTS, listViolations } from '../db/invariant.ts';

export const check = (ctx: ReadCtx) =>
  ctx.read(async (reader) => {
    const found = await Promise.all(INVARIANTS.map((invariant) => listViolations(reader, invariant)));
    const violations = found.flat();
    return {
      is_clean: violations.length === 0,
      checked_at: ctx.deps.clock.now().toISOString(),
      violations,
      checks: INVARIANTS.length,
    };
  });
