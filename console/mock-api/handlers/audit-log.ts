import { type MockCtx, organizationOf, type Req } from '../core/context.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { AuditRow } from '../core/rows.ts';

type Filters = Req<'auditLogExport'>['query'];

/** Rows are sealed a moment after they are written. */
const SEALED_AFTER_MS = 2_000;

const view =
  (nowMs: number) =>
  (row: AuditRow): AuditRow => ({ ...row, sealed: nowMs - Date.parse(row.created_at) > SEALED_AFTER_MS });

const matches = (query: Filters) => (row: AuditRow) =>
  (query.action === undefined || row.action.startsWith(query.action)) &&
  (query.actor_id === undefined || row.actor_id === query.actor_id) &&
  (query.target_id === undefined || row.target_id === query.target_id) &&
  (query.project_id === undefined || row.project_id === query.project_id) &&
  (query.result === undefined || row.result === query.result) &&
  (query.correlation_id === undefined || row.correlation_id === query.correlation_id) &&
  (query.since === undefined || Date.parse(row.created_at) >= Date.parse(query.since)) &&
  (query.until === undefined || Date.parse(row.created_at) < Date.parse(query.until));

const ofOrganization = (ctx: MockCtx, query: Filters): AuditRow[] =>
  ctx.world.audit.filter((row) => row.organization_id === organizationOf(ctx)).filter(matches(query));

async function* lines(rows: readonly AuditRow[]): AsyncGenerator<AuditRow> {
  yield* rows;
}

const chainOf = (chain: string, rows: readonly AuditRow[], nowMs: number) => {
  const sealed = rows.filter((row) => view(nowMs)(row).sealed);
  const open = rows.filter((row) => !sealed.includes(row));
  return {
    chain,
    rows_sealed: sealed.length,
    rows_unsealed: open.length,
    unsealed_ids: open.slice(0, 100).map(idOf),
    head_hash: sealed.length === 0 ? null : digestOf(`${chain} ${sealed.length}`),
    findings: [],
  };
};

export const auditLog = {
  auditLogList: async (ctx: MockCtx, { query }: Req<'auditLogList'>) => ({
    ...pageOf(ctx, query, newestFirst(ofOrganization(ctx, query)), idOf, view(ctx.world.now())),
    archived_until: null,
  }),
  auditLogExport: async (ctx: MockCtx, { query }: Req<'auditLogExport'>) =>
    lines(ofOrganization(ctx, query).map(view(ctx.world.now()))),
  adminAuditLogList: async (ctx: MockCtx, { query }: Req<'adminAuditLogList'>) => {
    const rows = ctx.world.audit
      .filter((row) => query.organization_id === undefined || row.organization_id === query.organization_id)
      .filter(matches(query));
    return { ...pageOf(ctx, query, newestFirst(rows), idOf, view(ctx.world.now())), archived_until: null };
  },
  adminAuditLogVerify: async ({ world }: MockCtx, { query }: Req<'adminAuditLogVerify'>) => {
    const chains = new Map<string, AuditRow[]>();
    for (const row of world.audit) {
      const chain = row.organization_id ?? 'platform';
      if (query.organization_id !== undefined && chain !== query.organization_id) continue;
      chains.set(chain, [...(chains.get(chain) ?? []), row]);
    }
    const reports = [...chains].map(([chain, rows]) => chainOf(chain, rows, world.now()));
    return {
      intact: true,
      checked_at: world.ago(),
      heads_file_lines: reports.reduce((sum, one) => sum + one.rows_sealed, 0),
      chains: reports,
    };
  },
};
