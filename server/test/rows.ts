/** Rows for tests about one or two of their columns. */
import type { AuditRow } from '../src/db/audit.ts';
import type { NewOutboxEvent } from '../src/db/outbox.ts';

export const anAuditRow = (row: Partial<AuditRow> = {}): AuditRow => ({
  organization_id: 'org_a',
  project_id: null,
  actor_kind: 'user',
  actor_id: 'usr_a',
  actor_role: 'owner',
  source_ip: '127.0.0.1',
  user_agent: 'test',
  action: 'project.create',
  target_kind: 'project',
  target_id: 'prj_a',
  result: 'success',
  error_code: null,
  policy: 'tenant:owner holds project.create',
  correlation_id: 'cor_test',
  metadata: {},
  ...row,
});

export const anEvent = (event: Partial<NewOutboxEvent> = {}): NewOutboxEvent => ({
  event_type: 'project.updated',
  organization_id: 'org_a',
  project_id: 'prj_a',
  subject: 'prj_a',
  data: { project_id: 'prj_a', name: 'a' },
  correlation_id: 'cor_test',
  ...event,
});
