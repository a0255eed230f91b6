/** Reading the audit log: tenants see their own chain, operators all of them and whether they are intact. */
import type { PublicApi, RequestOf, ResponseOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { type AuditFilter, type AuditLogRow, listAuditLogs, listAuditLogsAsOf } from '../db/audit.ts';
import { getSnapshot } from '../db/outbox.ts';
import { AppError } from '../errors.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
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
  const rows = await ctx.read((reader) =>
    listAuditLogs(reader, filter, { before_id: before === undefined ? undefined : String(before), limit: limit + 1 }),
  );
  return pageOf(ctx, limit, rows, (row) => [row.id], view);
};

export const auditLogList = async (ctx: ReadCtx, req: Request<'auditLogList'>): Response<'auditLogList'> =>
  list(ctx, filterOf(req.query, req.params.organization_id), req.query);

export const adminAuditLogList = async (
  ctx: ReadCtx,
  req: Request<'adminAuditLogList'>,
): Response<'adminAuditLogList'> => list(ctx, filterOf(req.query, req.query.organization_id), req.query);

/** Exactly the rows committed when the export was requested. */
export const auditLogExport = async (ctx: ReadCtx, req: Request<'auditLogExport'>): Response<'auditLogExport'> => {
  const filter = filterOf(req.query, req.params.organization_id);
  const snapshot = await ctx.read(getSnapshot);
  return (async function* () {
    for (let after_id = ''; ; ) {
      const rows = await ctx.read((reader) =>
        listAuditLogsAsOf(reader, snapshot, filter, { after_id, limit: EXPORT_PAGE_ROWS }),
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
    only: req.query.organization_id ?? null,
  });
  if (!report.intact)
    log.error({ chains: report.chains.filter((chain) => chain.findings.length > 0) }, 'audit log verification failed');
  return { ...report, checked_at: clock.now().toISOString() };
};
