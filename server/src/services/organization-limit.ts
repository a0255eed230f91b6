/** The limits of an organization and of the caller, and their use. */
import { type CountedLimit, LIMIT_NAMES, LIMITS, type LimitName } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { countTowards } from '../db/limit.ts';
import { organizationOf, principalOf } from '../pipeline/caller.ts';

const isCounted = (name: LimitName): name is CountedLimit => LIMITS[name].kind === 'rows';

export const list = (ctx: ReadCtx) =>
  ctx.read(async (reader) => ({
    items: await Promise.all(
      LIMIT_NAMES.map(async (name) => {
        const { per, unit, counts } = LIMITS[name];
        const id = per === 'user' ? principalOf(ctx).id : organizationOf(ctx);
        const used = isCounted(name) ? await countTowards(reader, name, id) : null;
        return { name, per, unit, counts, max: ctx.deps.config.limits[name], used };
      }),
    ),
  }));
