import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, type Req } from '../core/context.ts';
import { conflict } from '../core/errors.ts';
import type { World } from '../core/world.ts';

const view = (world: World) => {
  const known = [...world.nodes.values()].filter((node) => node.is_connected).length;
  return { ...world.clock, database_time: world.ago(), agents: { known, reported: known, agreeing: known } };
};

export const clock = {
  adminClockGet: async ({ world }: MockCtx) => view(world),
  adminClockConfirm: async (ctx: MockCtx, { if_match }: Req<'adminClockConfirm'>) => {
    const { world } = ctx;
    assertVersion(world.clock, if_match);
    if (!world.clock.is_held) throw conflict(REFUSALS.clock_not_held);
    Object.assign(world.clock, {
      is_held: false,
      held_since: null,
      reason: null,
      jump_ms: null,
      ended_at: world.ago(),
      ended_by: ctx.principal.id,
      version: world.clock.version + 1,
    });
    return view(world);
  },
};
