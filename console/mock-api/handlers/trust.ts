import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { TrustKey } from '../core/rows.ts';

const GRACE_MS = 7 * 86_400_000;

const lock = (ctx: MockCtx, id: string, ifMatch: number): TrustKey => {
  const key = must(
    ctx.world.trustKeys.find((one) => one.id === id),
    'key',
  );
  assertVersion(key, ifMatch);
  return key;
};

const move = (ctx: MockCtx, key: TrustKey, state: TrustKey['state']): TrustKey =>
  Object.assign(key, { state, state_since: ctx.world.ago(), version: key.version + 1 });

export const trust = {
  adminTrustKeyList: async (ctx: MockCtx, { query }: Req<'adminTrustKeyList'>) => {
    const rows = ctx.world.trustKeys.filter((one) => query.purpose === undefined || one.purpose === query.purpose);
    return pageOf(ctx, query, newestFirst(rows), idOf, asIs);
  },
  adminTrustKeyGet: async (ctx: MockCtx, { params }: Req<'adminTrustKeyGet'>) =>
    must(
      ctx.world.trustKeys.find((one) => one.id === params.trust_key_id),
      'trust key',
    ),
  adminTrustKeyCreate: async (ctx: MockCtx, { body }: Req<'adminTrustKeyCreate'>) => {
    const { world } = ctx;
    if (
      world.trustKeys.some(
        (one) => one.purpose === body.purpose && (one.state === 'staged' || one.state === 'requested'),
      )
    )
      throw conflict(REFUSALS.key_staged);
    const id = world.mint('trust_key');
    const key: TrustKey = {
      id,
      purpose: body.purpose,
      state: 'staged',
      state_since: world.ago(),
      fingerprint_sha256: digestOf(id),
      retires_at: null,
      version: 1,
      created_at: world.ago(),
    };
    world.trustKeys.push(key);
    return { ...key };
  },
  adminTrustKeyActivate: async (ctx: MockCtx, { params, if_match }: Req<'adminTrustKeyActivate'>) => {
    const { world } = ctx;
    const key = lock(ctx, params.trust_key_id, if_match);
    if (key.state !== 'staged') throw conflict(REFUSALS.key_not_staged(key.state));
    const before = world.trustKeys.find((one) => one.purpose === key.purpose && one.state === 'active');
    if (before !== undefined) Object.assign(move(ctx, before, 'grace'), { retires_at: world.ago(-GRACE_MS) });
    const nodes_without_key = [...world.nodes.values()].filter((node) => !node.is_connected).length;
    return { ...move(ctx, key, 'active'), nodes_without_key };
  },
  adminTrustKeyRetire: async (ctx: MockCtx, { params, if_match }: Req<'adminTrustKeyRetire'>) => {
    const key = lock(ctx, params.trust_key_id, if_match);
    if (key.state !== 'grace' && key.state !== 'staged') throw conflict(REFUSALS.key_not_retirable(key.state));
    return { ...move(ctx, key, 'retired') };
  },
  adminTrustKeyRevoke: async (ctx: MockCtx, { params, if_match }: Req<'adminTrustKeyRevoke'>) => {
    const key = lock(ctx, params.trust_key_id, if_match);
    if (key.state === 'active') throw conflict(REFUSALS.key_active);
    if (key.state === 'revoked') throw conflict(REFUSALS.key_not_revocable(key.state));
    return { ...move(ctx, key, 'revoked') };
  },
};
