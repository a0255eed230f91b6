/** An outbox row as a CloudEvents 1.0 document. Missing organization and project attributes are omitted, not null. */
export type CloudEvent = Readonly<{
  specversion: '1.0';
  id: string;
  type: string;
  source: string;
  subject: string;
  time: string;
  datacontenttype: 'application/json';
  correlationid: string;
  organizationid?: string;
  projectid?: string;
  data: object;
}>;

type EventRow = Readonly<{
  id: string;
  event_type: string;
  organization_id: string | null;
  project_id: string | null;
  subject: string;
  data: object;
  correlation_id: string;
  created_at: string;
}>;

export const toCloudEvent = (row: EventRow): CloudEvent => ({
  specversion: '1.0',
  id: row.id,
  type: row.event_type,
  source: '/gpuaas',
  subject: row.subject,
  time: row.created_at,
  datacontenttype: 'application/json',
  correlationid: row.correlation_id,
  ...(row.organization_id === null ? {} : { organizationid: row.organization_id }),
  ...(row.project_id === null ? {} : { projectid: row.project_id }),
  data: row.data,
});
