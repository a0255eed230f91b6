import { type CountedLimit, LIMIT_NAMES, LIMITS, type LimitName } from '@gpuaas/contract';
import type { MockCtx } from '../core/context.ts';
import { usedOf } from '../core/limits.ts';

const isCounted = (name: LimitName): name is CountedLimit => LIMITS[name].kind === 'rows';

export const organizationLimit = {
  organizationLimitList: async (ctx: MockCtx) => ({
    items: LIMIT_NAMES.map((name) => {
      const { per, unit, counts } = LIMITS[name];
      const used = isCounted(name) ? usedOf(ctx, name) : null;
      return { name, per, unit, counts, max: ctx.world.limits[name], used };
    }),
  }),
};
