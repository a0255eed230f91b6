/** The sessions, ending them, and the recordings of terminals. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type PublicApi, type RequestOf, type ResponseOf, scopeAllows } from '@gpuaas/contract';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import { findProjectAllocation } from '../db/allocation.ts';
import type { Reader } from '../db/client.ts';
import { listRecordingParts } from '../db/terminal-recording.ts';
import * as db from '../db/terminal-session.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';
import { callerHolds, organizationOf, principalOf, projectOf } from '../pipeline/caller.ts';
import { pageOfAllocation } from '../views/allocation-page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const PART_BYTES_MAX = 64 * 1024 * 1024;
const unpack = promisify(gunzip);

const sessionOf = async (
  reader: Reader,
  ctx: Ctx,
  params: Readonly<{ allocation_id: string; session_id: string }>,
): Promise<db.SessionRow> => {
  const { allocation_id, session_id: id } = params;
  const named = { project_id: projectOf(ctx), allocation_id };
  const [allocation, row] = await Promise.all([
    findProjectAllocation(reader, named.project_id, allocation_id),
    db.findSession(reader, { ...named, id }),
  ]);
  if (allocation === undefined) throw notFound('allocation');
  if (row === undefined) throw notFound('session');
  return row;
};

export const list = (ctx: ReadCtx, req: Req<'terminalSessionList'>) => pageOfAllocation(ctx, req, db.listSessions);

export const get = (ctx: ReadCtx, { params }: Req<'terminalSessionGet'>) =>
  ctx.read((reader) => sessionOf(reader, ctx, params));

/** Users who may read others' sessions may end them too. */
const manages = (ctx: Ctx): boolean =>
  callerHolds(ctx, 'allocation.recording.read', organizationOf(ctx), projectOf(ctx)) &&
  scopeAllows(principalOf(ctx).credential.scopes, 'allocation.recording.read');

/** Ending an ended session changes nothing. */
export const close = async (ctx: WriteCtx, { params }: Req<'terminalSessionClose'>): Promise<undefined> => {
  const row = await sessionOf(ctx.tx, ctx, params);
  const { id, name } = principalOf(ctx);
  if (row.principal_id !== id && !manages(ctx)) throw new AppError('permission_denied', REFUSALS.session_of_others);
  const was_open = await db.endSession(ctx.tx, row.id, {
    by: id,
    reason: 'ended',
    message: REFUSALS.session_ended_early(name),
  });
  ctx.target('terminal_session', row.id);
  ctx.note({ allocation_id: row.allocation_id, kind: row.kind, principal_id: row.principal_id, was_open });
};

/** Part by part, so that a long recording is never completely in memory. Each part consists of whole lines. */
export const recordingGet = async (
  ctx: ReadCtx,
  { params }: Req<'terminalRecordingGet'>,
): Promise<ResponseOf<PublicApi['terminalRecordingGet']>> => {
  const read = (after: number) =>
    ctx.read((reader) => listRecordingParts(reader, params.session_id, { after, limit: 1 }));
  await ctx.read((reader) => sessionOf(reader, ctx, params));
  const [first] = await read(-1);
  if (first === undefined) throw notFound('recording');
  return (async function* () {
    for (let next: typeof first | undefined = first; next !== undefined; [next] = await read(next.part)) {
      const content = ctx.deps.secrets.openBytes(
        next.sealed_content,
        SEALED_TO.recording(params.session_id, next.part),
      );
      const text = (await unpack(content, { maxOutputLength: PART_BYTES_MAX })).toString('utf8');
      for (const line of text.split('\n')) if (line !== '') yield JSON.parse(line);
    }
  })();
};
