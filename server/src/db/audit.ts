/**
 * Audit rows are written in the transaction of the change, unhashed, so that writers never wait for each other; the
 * sealer chains them afterwards in commit order. Nothing here updates or deletes: the table refuses both.
 */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { AuditLogs } from './types.gen.ts';

export type AuditRow = Readonly<
  Pick<
    AuditLogs,
    | 'organization_id'
    | 'project_id'
    | 'actor_kind'
    | 'actor_id'
    | 'actor_role'
    | 'source_ip'
    | 'user_agent'
    | 'action'
    | 'target_kind'
    | 'target_id'
    | 'result'
    | 'error_code'
    | 'policy'
    | 'correlation_id'
  > & {
    metadata: Readonly<Record<string, unknown>>;
  }
>;

export const AUDIT_COLUMNS = `id, organization_id, project_id, actor_kind, actor_id, actor_role, source_ip, user_agent,
  action, target_kind, target_id, result, error_code, policy, correlation_id, metadata`;

/** The values of those columns, for a statement that builds the metadata itself and puts it last. */
export const AUDIT_VALUES = `:audit_id, :organization_id, :project_id, :actor_kind, :actor_id, :actor_role, :source_ip, :user_agent,
  :action, :target_kind, :target_id, :result, :error_code, :policy, :correlation_id`;

/** Of AUDIT_VALUES. */
export const AUDIT_PARAMETERS = {
  audit_id: 'text',
  organization_id: 'text | null',
  project_id: 'text | null',
  actor_kind: 'text',
  actor_id: 'text | null',
  actor_role: 'text | null',
  source_ip: 'text | null',
  user_agent: 'text | null',
  action: 'text',
  target_kind: 'text | null',
  target_id: 'text | null',
  result: 'text',
  error_code: 'text | null',
  policy: 'text',
  correlation_id: 'text',
} as const;

/** Needs AUDIT_PARAMETERS and :metadata. */
export const INSERT_AUDIT = `insert into audit_logs (${AUDIT_COLUMNS}) values (${AUDIT_VALUES}, :metadata)`;

const INSERT = statement({ ...AUDIT_PARAMETERS, metadata: 'jsonb' }, INSERT_AUDIT);

export const insertAuditLog = async (tx: Tx, row: AuditRow): Promise<void> => {
  await INSERT.query(tx, { ...row, audit_id: mintId('aud') });
};

export type SystemAction = Pick<
  AuditRow,
  'organization_id' | 'project_id' | 'action' | 'target_kind' | 'target_id' | 'policy' | 'correlation_id' | 'metadata'
>;

/** Automatic changes without a request. `policy` names the rule. */
export const systemAudit = (row: SystemAction): AuditRow => ({
  ...row,
  actor_kind: 'system',
  actor_id: null,
  actor_role: null,
  source_ip: null,
  user_agent: null,
  result: 'success',
  error_code: null,
});

export const insertSystemAudit = (tx: Tx, row: SystemAction): Promise<void> => insertAuditLog(tx, systemAudit(row));

export type AuditLogRow = AuditRow & Readonly<{ id: string; created_at: string; sealed: boolean }>;

export type AuditFilter = Readonly<{
  organization_id?: string | undefined;
  project_id?: string | undefined;
  actor_id?: string | undefined;
  action?: string | undefined;
  target_id?: string | undefined;
  result?: string | undefined;
  correlation_id?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}>;

const CONDITIONS: Readonly<Record<keyof AuditFilter, string>> = {
  organization_id: 'l.organization_id =',
  project_id: 'l.project_id =',
  actor_id: 'l.actor_id =',
  action: 'l.action =',
  target_id: 'l.target_id =',
  result: 'l.result =',
  correlation_id: 'l.correlation_id =',
  since: 'l.created_at >=',
  until: 'l.created_at <',
};

/** The text contains only the requested conditions, so that each combination gets its own plan. */
const whereOf = (filter: AuditFilter, more: readonly (readonly [string, unknown])[]) => {
  const pairs: (readonly [string, unknown])[] = Object.entries(CONDITIONS).map(([name, sql]) => [
    `${sql} ?`,
    filter[name as keyof AuditFilter],
  ]);
  const given = [...pairs, ...more].filter(([, value]) => value !== undefined);
  return {
    text: given.map(([sql], index) => sql.replace('?', `$${index + 2}`)).join(' and ') || 'true',
    values: given.map(([, value]) => value),
  };
};

const COLUMNS = `l.id, l.created_at, l.organization_id, l.project_id, l.actor_kind, l.actor_id, l.actor_role,
  l.source_ip, l.user_agent, l.action, l.target_kind, l.target_id, l.result, l.error_code, l.policy,
  l.correlation_id, l.metadata, exists (select from audit_seals s where s.audit_log_id = l.id) as sealed`;

/** Newest first. */
export const listAuditLogs = async (
  reader: Reader,
  filter: AuditFilter,
  page: Readonly<{ before_id: string | undefined; limit: number }>,
): Promise<AuditLogRow[]> => {
  const where = whereOf(filter, [['l.id < ?', page.before_id]]);
  const { rows } = await reader.query<AuditLogRow>(
    `select ${COLUMNS} from audit_logs l where ${where.text} order by l.id desc limit $1`,
    [page.limit, ...where.values],
  );
  return rows;
};

/**
 * Oldest first, and only rows of the snapshot: pages read later still form one consistent result. Rows of the chain up to
 * `archived_to` are left out.
 */
export const listAuditLogsAsOf = async (
  reader: Reader,
  snapshot: string,
  filter: AuditFilter,
  page: Readonly<{ after_id: string; limit: number; archived_to: number | undefined }>,
): Promise<AuditLogRow[]> => {
  const where = whereOf(filter, [
    ['l.id > ?', page.after_id],
    ['not exists (select from audit_seals a where a.audit_log_id = l.id and a.sequence <= ?)', page.archived_to],
    ['pg_visible_in_snapshot(l.xid, ?::pg_snapshot)', snapshot],
  ]);
  const { rows } = await reader.query<AuditLogRow>(
    `select ${COLUMNS} from audit_logs l where ${where.text} order by l.id limit $1`,
    [page.limit, ...where.values],
  );
  return rows;
};
