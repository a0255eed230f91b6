/** Filters of the audit log, as in the URL and as the API and the CLI take them. */
import type { AuditLog, Operations } from '@gpuaas/sdk';
import type { Flag } from '../../format/shell.ts';

export const AUDIT_FILTERS = [
  'action',
  'actor',
  'target',
  'project',
  'organization',
  'result',
  'correlation',
  'since',
  'until',
] as const;
type FilterName = (typeof AUDIT_FILTERS)[number];
export type AuditSearch = Readonly<{ [K in FilterName]?: string | undefined }>;
type AuditQuery = NonNullable<Operations['adminAuditLogList']['request']['query']>;

/** An invalid value is still sent: the API's error says what is wrong with it. */
export const auditQuery = (search: AuditSearch): AuditQuery => ({
  ...(search.action === undefined ? {} : { action: search.action }),
  ...(search.actor === undefined ? {} : { actor_id: search.actor }),
  ...(search.target === undefined ? {} : { target_id: search.target }),
  ...(search.project === undefined ? {} : { project_id: search.project }),
  ...(search.organization === undefined ? {} : { organization_id: search.organization }),
  ...(search.result === undefined ? {} : { result: search.result as AuditLog['result'] }),
  ...(search.correlation === undefined ? {} : { correlation_id: search.correlation }),
  ...(search.since === undefined ? {} : { since: search.since }),
  ...(search.until === undefined ? {} : { until: search.until }),
});

export const auditFlags = (search: AuditSearch): readonly Flag[] => [
  ['in-organization', search.organization],
  ['action', search.action],
  ['actor', search.actor],
  ['target', search.target],
  ['in-project', search.project],
  ['result', search.result],
  ['by-correlation-id', search.correlation],
  ['since', search.since],
  ['until', search.until],
];

/** The value of a `datetime-local` field is interpreted as UTC, like every time of the platform. */
export const fieldFromTime = (time: string | undefined): string => {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 16);
};
export const timeFromField = (field: string): string | undefined => {
  const ms = Date.parse(`${field}Z`);
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
};

export const hasFilters = (search: AuditSearch): boolean => AUDIT_FILTERS.some((name) => search[name] !== undefined);
