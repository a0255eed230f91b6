/** Records of backups. The backup job calls it, so that a backup that did not happen is noticed. */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/backup.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import { callerId } from '../pipeline/caller.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** The clock of the backup host may be ahead by this. */
const AHEAD_MAX_MS = 60_000;

const beforeOf = (ctx: ReadCtx, cursor: string | undefined): db.BackupsBefore | null => {
  const [taken_at, id] = decodeCursor(ctx, cursor, 2) ?? [];
  if (taken_at === undefined) return null;
  if (typeof taken_at !== 'string' || Number.isNaN(Date.parse(taken_at)) || typeof id !== 'string')
    throw malformedCursor();
  return { taken_at: new Date(taken_at).toISOString(), id };
};

export const list = async (ctx: ReadCtx, { query }: Req<'adminBackupList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const before = beforeOf(ctx, query.cursor);
  const rows = await ctx.read((reader) => db.listBackups(reader, { before, limit: limit + 1 }));
  return pageOf(
    ctx,
    limit,
    rows,
    ({ taken_at, id }) => [taken_at, id],
    (row) => row,
  );
};

export const record = async (ctx: WriteCtx, { body }: Req<'adminBackupRecord'>) => {
  const takenAt = new Date(body.taken_at);
  if (takenAt.getTime() > ctx.deps.clock.now().getTime() + AHEAD_MAX_MS)
    throw new AppError('invalid_request', REFUSALS.backup_from_future, {
      errors: [{ pointer: '/body/taken_at', code: 'future', message: 'must not be in the future' }],
    });
  const row = await db.ensureBackup(ctx.tx, {
    id: mintId(ID_PREFIXES.backup),
    taken_at: takenAt.toISOString(),
    location: body.location,
    size_bytes: body.size_bytes ?? null,
    recorded_by: callerId(ctx),
    correlation_id: ctx.correlation_id,
  });
  ctx.target('backup', row.id);
  ctx.note({ taken_at: row.taken_at, location: row.location });
  return row;
};
