import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict } from '../core/errors.ts';
import { asIs, pageOf } from '../core/page.ts';
import type { PlatformKey } from '../core/rows.ts';

const sorted = (keys: readonly PlatformKey[]): PlatformKey[] =>
  keys.toSorted((a, b) => a.kind.localeCompare(b.kind) || b.version - a.version);

export const platformKey = {
  adminPlatformKeyList: async (ctx: MockCtx, { query }: Req<'adminPlatformKeyList'>) => {
    const rows = ctx.world.platformKeys.filter((one) => query.kind === undefined || one.kind === query.kind);
    return pageOf(ctx, query, sorted(rows), (key) => `${key.kind}/${key.version}`, asIs);
  },
  adminPlatformKeyRotate: async (ctx: MockCtx, { body }: Req<'adminPlatformKeyRotate'>) => {
    const keys = sorted(ctx.world.platformKeys.filter((one) => one.kind === body.kind));
    const retiring = keys.find((one) => one.state === 'retiring');
    if (retiring !== undefined) throw conflict(REFUSALS.rotation_running(retiring.version));
    const active = must(
      keys.find((one) => one.state === 'active'),
      'key',
    );
    const newest = must(keys[0], 'key');
    if (newest.version <= active.version) throw conflict(REFUSALS.no_newer_key(body.kind, newest.version + 1));
    const state_since = ctx.world.ago();
    Object.assign(active, { state: 'retiring', state_since });
    Object.assign(newest, { state: 'active', state_since });
    return { ...newest };
  },
};
