/** Reading the audit log: tenants see their own chain, operators all of them and whether they are intact. */
import type { PublicApi, RequestOf, ResponseOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { type AuditFilter, type AuditLogRow, listAuditLogs, listAuditLogsAsOf } from '../db/audit.ts';
import { findArchivedUntil, listSegments } from '../db/audit-segment.ts';
import { getSnapshot } from '../db/outbox.ts';
import { AppError } from '../errors.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createSegmentFiles } from '../ports/objects/segment-files.ts';
import { listArchived, type SegmentReader } from './audit-segments.ts';
import { verifyAudit } from './audit-verify.ts';

type Api = PublicApi;
type Request<K extends keyof Api> = RequestOf<Api[K]>;
type Response<K extends keyof Api> = Promise<ResponseOf<Api[K]>>;

const EXPORT_PAGE_ROWS = 500;

/** The contract's grammar allows times that PostgreSQL refuses: leap seconds and the year zero. */
export const timeBound = (name: 'since' | 'until', text: string | undefined): string | undefined => {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new AppError('invalid_request', `${name} is not a time.`, {
      errors: [{ pointer: `/query/${name}`, code: 'format', message: 'Send a time such as 2026-11-15T10:03:21Z.' }],
    });
  return new Date(Math.max(0, ms)).toISOString();
};

const filterOf = (query: AuditFilter, organizationId: string | undefined): AuditFilter => ({
  organization_id: organizationId,
  project_id: query.project_id,
  actor_id: query.actor_id,
  action: query.action,
  target_id: query.target_id,
  result: query.result,
  correlation_id: query.correlation_id,
  since: timeBound('since', query.since),
  until: timeBound('until', query.until),
});

const view = (row: AuditLogRow): AuditLogRow => row;

const list = async (ctx: ReadCtx, filter: AuditFilter, page: Readonly<{ limit?: number; cursor?: string }>) => {
  const limit = page.limit ?? PAGE_LIMIT_DEFAULT;
  const before = decodeCursor(ctx, page.cursor)?.[0];
  const [rows, archived_until] = await ctx.read((reader) =>
    Promise.all([
      listAuditLogs(reader, filter, { before_id: before === undefined ? undefined : String(before), limit: limit + 1 }),
      findArchivedUntil(reader, filter.organization_id ?? null),
    ]),
  );
  return { ...pageOf(ctx, limit, rows, (row) => [row.id], view), archived_until };
};

const archiveOf = ({ deps: { config, secrets } }: ReadCtx): SegmentReader | null =>
  config.audit_archive_dir === null
    ? null
    : createSegmentFiles({
        directory: config.audit_archive_dir,
        seeds: () => secrets.deriveByVersion('audit-segments', 32),
      });

export const auditLogList = async (ctx: ReadCtx, req: Request<'auditLogList'>): Response<'auditLogList'> =>
  list(ctx, filterOf(req.query, req.params.organization_id), req.query);

export const adminAuditLogList = async (
  ctx: ReadCtx,
  req: Request<'adminAuditLogList'>,
): Response<'adminAuditLogList'> => list(ctx, filterOf(req.query, req.query.organization_id), req.query);

/**
 * Exactly the rows committed when the export was requested. What is in a segment by then is read from its file, whether or
 * not it is still in the database; what gets into one later stays there for a day at least.
 */
export const auditLogExport = async (ctx: ReadCtx, req: Request<'auditLogExport'>): Response<'auditLogExport'> => {
  const filter = filterOf(req.query, req.params.organization_id);
  const [segments, snapshot] = await ctx.read((reader) =>
    Promise.all([listSegments(reader, req.params.organization_id), getSnapshot(reader)]),
  );
  const archived_to = segments.at(-1)?.last_sequence;
  return (async function* () {
    yield* listArchived(archiveOf(ctx), segments, filter);
    for (let after_id = ''; ; ) {
      const rows = await ctx.read((reader) =>
        listAuditLogsAsOf(reader, snapshot, filter, { after_id, limit: EXPORT_PAGE_ROWS, archived_to }),
      );
      yield* rows.map(view);
      const last = rows.at(-1);
      if (last === undefined || rows.length < EXPORT_PAGE_ROWS) return;
      after_id = last.id;
    }
  })();
};

export const adminAuditLogVerify = async (
  ctx: ReadCtx,
  req: Request<'adminAuditLogVerify'>,
): Response<'adminAuditLogVerify'> => {
  const { config, secrets, database, clock, log } = ctx.deps;
  const report = await verifyAudit({
    database,
    heads: createHeadsFile({ file: config.audit_heads_file, seeds: () => secrets.deriveByVersion('audit-heads', 32) }),
    archive: archiveOf(ctx),
    only: req.query.organization_id ?? null,
  });
  if (!report.intact)
    log.error({ chains: report.chains.filter((chain) => chain.findings.length > 0) }, 'audit log verification failed');
  return { ...report, checked_at: clock.now().toISOString() };
};
