/**
 * Rotation of the keys that seal values. The keys are settings of the processes; here an operator chooses the sealing
 * version. Nothing is sealed with a version that a running process could not open.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import * as db from '../db/platform-key.ts';
import { countSealed } from '../db/statements/reseal.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { conflict } from '../errors.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const listViews = async (reader: Reader, kind?: db.KeyKind) => {
  const [keys, holders, counts] = await Promise.all([
    db.listPlatformKeys(reader, kind),
    db.listHolders(reader),
    countSealed(reader, kind),
  ]);
  return keys.map(({ kind: of, version, state, state_since, created_at }) => {
    const running = holders.filter((one) => one.kind === of);
    const process_count = running.filter((one) => one.versions.includes(version)).length;
    return {
      ...{ kind: of, version, state, state_since, created_at, process_count },
      sealed_values: counts.find((one) => one.kind === of && one.version === version)?.count ?? 0,
      processes_without_key: running.length - process_count,
    };
  });
};

const place = (key: Readonly<{ kind: string; version: number }>): string => `${key.kind}/${key.version}`;

export const list = async (ctx: ReadCtx, { query }: Req<'adminPlatformKeyList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = decodeCursor(ctx, query.cursor)?.[0];
  const keys = await ctx.read((reader) => listViews(reader, query.kind));
  const from = after === undefined ? 0 : keys.findIndex((key) => place(key) === after) + 1;
  return pageOf(
    ctx,
    limit,
    keys.slice(from, from + limit + 1),
    (key) => [place(key)],
    (key) => key,
  );
};

export const rotate = async (ctx: WriteCtx, { body }: Req<'adminPlatformKeyRotate'>) => {
  const { tx } = ctx;
  const { kind, reason } = body;
  await db.lockPlatformKeys(tx);
  const keys = await db.listPlatformKeys(tx, kind);
  const retiring = keys.find((key) => key.state === 'retiring');
  if (retiring !== undefined) throw conflict(REFUSALS.rotation_running(retiring.version));
  const active = keys.find((key) => key.state === 'active');
  const [newest] = keys;
  if (active === undefined || newest === undefined || newest.version <= active.version)
    throw conflict(REFUSALS.no_newer_key(kind, (newest?.version ?? 0) + 1));
  const lacking = (await db.listHolders(tx)).filter(
    (one) => one.kind === kind && !one.versions.includes(newest.version),
  );
  if (lacking.length > 0)
    throw conflict(
      REFUSALS.key_not_everywhere(
        newest.version,
        lacking.map((one) => one.service),
      ),
    );
  await db.movePlatformKey(tx, { kind, version: active.version, to: 'retiring' });
  await db.movePlatformKey(tx, { kind, version: newest.version, to: 'active' });
  ctx.target('platform_key', place(newest));
  ctx.note({ kind, from: active.version, to: newest.version, reason });
  const view = (await listViews(tx, kind)).find((key) => key.version === newest.version);
  if (view === undefined) throw conflict(REFUSALS.no_newer_key(kind, newest.version + 1));
  return view;
};
