/**
 * The outbox: events commit with the change they tell of, and are read in commit order. A row carries the id of its
 * transaction; readers take only rows below the oldest transaction still running, so a row that commits late is never
 * jumped over. Transaction ids travel as text, because they outgrow a double.
 */
import { mintId } from '@gpuaas/kit';
import type { Tx } from './client.ts';

export type NewOutboxEvent = Readonly<{
  event_type: string;
  organization_id: string | null;
  project_id: string | null;
  subject: string;
  data: object;
  correlation_id: string;
}>;

export const insertOutboxEvent = async (tx: Tx, event: NewOutboxEvent): Promise<void> => {
  await tx.query(
    `insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      mintId('evt'),
      event.event_type,
      event.organization_id,
      event.project_id,
      event.subject,
      JSON.stringify(event.data),
      event.correlation_id,
    ],
  );
};
