/** Requests of tenants for larger GPU limits. '' stands for the whole organization, as in quotas. */
import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { QuotaRequests } from './types.gen.ts';

export type QuotaRequestRow = Readonly<
  Omit<QuotaRequests, 'project_key'> & {
    organization_name: string;
    project_name: string | null;
    current_gpu_limit: number | null;
  }
>;

const REQUEST = `id, organization_id, project_id, gpu_limit, reason, state, granted_gpu_limit, decision_reason, requested_by,
  decided_by, decided_at, created_at,
  (select o.name from organizations o where o.id = quota_requests.organization_id) as organization_name,
  (select p.name from projects p where p.id = quota_requests.project_key) as project_name,
  (select l.gpu_limit from quotas l where l.organization_id = quota_requests.organization_id
    and l.project_id = quota_requests.project_id) as current_gpu_limit`;

const INSERT_QUOTA_REQUEST = statement(
  {
    id: 'text',
    organization_id: 'text',
    project_id: 'text',
    gpu_limit: 'integer',
    reason: 'text',
    requested_by: 'text',
  },
  `insert into quota_requests (id, organization_id, project_id, gpu_limit, reason, requested_by)
   values (:id, :organization_id, :project_id, :gpu_limit, :reason, :requested_by)
   on conflict (organization_id, project_id) where state = 'open' do nothing returning ${REQUEST}`,
);

/** Undefined when a request for this limit is open. */
export const insertQuotaRequest = async (
  tx: Tx,
  row: Pick<QuotaRequestRow, 'id' | 'organization_id' | 'project_id' | 'gpu_limit' | 'reason' | 'requested_by'>,
): Promise<QuotaRequestRow | undefined> => (await INSERT_QUOTA_REQUEST.query<QuotaRequestRow>(tx, row)).rows[0];

export const listQuotaRequests = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number; organization_id: string | null; state: string | null }>,
): Promise<QuotaRequestRow[]> =>
  (
    await reader.query<QuotaRequestRow>(
      `select ${REQUEST} from quota_requests where ($1::text is null or id < $1) and ($2::text is null or organization_id = $2)
         and ($3::text is null or state = $3) order by id desc limit $4`,
      [page.after, page.organization_id, page.state, page.limit],
    )
  ).rows;

/** Locks the request: it is decided or withdrawn once. `organizationId` is null for operators. */
export const lockQuotaRequest = async (
  tx: Tx,
  id: string,
  organizationId: string | null,
): Promise<QuotaRequestRow | undefined> =>
  (
    await tx.query<QuotaRequestRow>(
      `select ${REQUEST} from quota_requests where id = $1 and ($2::text is null or organization_id = $2) for update`,
      [id, organizationId],
    )
  ).rows[0];

const END_QUOTA_REQUEST = statement(
  {
    id: 'text',
    state: 'text',
    granted_gpu_limit: 'integer | null',
    decision_reason: 'text | null',
    decided_by: 'text | null',
  },
  `update quota_requests set state = :state, granted_gpu_limit = :granted_gpu_limit, decision_reason = :decision_reason,
     decided_by = :decided_by, decided_at = now() where id = :id and state = 'open' returning ${REQUEST}`,
);

/** Undefined when it is no longer open. */
export const endQuotaRequest = async (
  tx: Tx,
  end: Pick<QuotaRequestRow, 'id' | 'state' | 'granted_gpu_limit' | 'decision_reason' | 'decided_by'>,
): Promise<QuotaRequestRow | undefined> => (await END_QUOTA_REQUEST.query<QuotaRequestRow>(tx, end)).rows[0];

/** Decided or withdrawn: the audit log has them. */
export const deleteOldQuotaRequests = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select id from quota_requests where decided_at < now() - make_interval(days => $2)
         order by decided_at limit $1 for update skip locked)
       delete from quota_requests q using old where q.id = old.id`,
      [limit, days],
    )
  ).rowCount;
