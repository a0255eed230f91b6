import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const AUDIT_RESULTS = ['success', 'failure', 'denied'] as const;

export const AuditLog = Closed({
  id: Id('audit_log'),
  created_at: Time('When it happened.'),
  organization_id: Nullable(Id('organization')),
  project_id: Nullable(Type.String()),
  actor_kind: StringEnum(['user', 'service_account', 'system', 'anonymous']),
  actor_id: Nullable(Type.String()),
  actor_role: Nullable(Type.String({ description: 'The role that the decision used.' })),
  source_ip: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
  action: Type.String({ examples: ['project.create'] }),
  target_kind: Nullable(Type.String()),
  target_id: Nullable(Type.String()),
  result: StringEnum(AUDIT_RESULTS),
  error_code: Nullable(Type.String()),
  policy: Type.String({ description: 'The deciding role and permission, or the reason of the refusal.' }),
  correlation_id: Type.String(),
  metadata: Type.Object(
    {},
    { additionalProperties: true, description: 'Selected facts of the request; never secrets.' },
  ),
  sealed: Type.Boolean({ description: 'Whether the row is in the hash chain yet.' }),
});

const AuditPage = Closed({
  ...Page(AuditLog).properties,
  archived_until: Nullable(
    Time(
      'The newest row that left the database. Exports and verification read older rows from the archive; lists do not.',
    ),
  ),
});

const filters = {
  action: Type.Optional(Type.String({ maxLength: 64, pattern: '^[a-z_.]+$' })),
  actor_id: Type.Optional(Type.String({ maxLength: 64, pattern: '^[a-z0-9_]+$' })),
  target_id: Type.Optional(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_.-]+$' })),
  project_id: Type.Optional(Id('project')),
  result: Type.Optional(StringEnum(AUDIT_RESULTS)),
  correlation_id: Type.Optional(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9._-]+$' })),
  since: Type.Optional(Time('Start time.')),
  until: Type.Optional(Time('Before.')),
};

export const AuditChainReport = Closed({
  chain: Type.String({ description: 'Organization id, or `platform`.' }),
  rows_sealed: Type.Integer(),
  rows_unsealed: Type.Integer(),
  unsealed_ids: Type.Array(Type.String(), {
    description: 'Rows that are not sealed yet, oldest first, at most 100.',
  }),
  head_hash: Nullable(Type.String()),
  findings: Type.Array(
    Closed({
      kind: StringEnum(['edited', 'deleted', 'reordered', 'truncated', 'head_forged', 'heads_missing']),
      sequence: Nullable(Type.Integer()),
      audit_log_id: Nullable(Type.String()),
      detail: Type.String(),
    }),
  ),
});

const read = { method: 'GET', tag: 'Audit', audit: null, idempotency: 'none', status: 200 } as const;

export const auditLogApi = define({
  auditLogList: {
    ...read,
    path: '/api/v1/organizations/{organization_id}/audit-logs',
    summary: 'List audit rows of the organization, newest first',
    access: 'tenant',
    permission: 'audit.read',
    params: Closed({ organization_id: Id('organization') }),
    query: Closed({ ...PageQuery, ...filters }),
    response: AuditPage,
  },
  auditLogExport: {
    ...read,
    path: '/api/v1/organizations/{organization_id}/audit-logs/export',
    summary: 'Export audit rows of the organization as JSON lines, oldest first',
    access: 'tenant',
    permission: 'audit.read',
    params: Closed({ organization_id: Id('organization') }),
    query: Closed(filters),
    response: AuditLog,
    stream: 'application/jsonl',
  },
  adminAuditLogList: {
    ...read,
    path: '/api/v1/admin/audit-logs',
    summary: 'List audit rows of every organization and of the platform, newest first',
    access: 'platform',
    permission: 'admin.audit.read',
    query: Closed({ ...PageQuery, ...filters, organization_id: Type.Optional(Id('organization')) }),
    response: AuditPage,
  },
  adminAuditLogVerify: {
    ...read,
    path: '/api/v1/admin/audit-logs/verify',
    summary: 'Verify every audit chain against the signed heads kept outside the database',
    access: 'platform',
    permission: 'admin.audit.verify',
    query: Closed({ organization_id: Type.Optional(Id('organization')) }),
    response: Closed({
      intact: Type.Boolean(),
      checked_at: Time('When the check ran.'),
      heads_file_lines: Type.Integer(),
      chains: Type.Array(AuditChainReport),
    }),
  },
});
