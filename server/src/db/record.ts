/**
 * What every mutation leaves behind, in one statement that is sent with the commit: its events, its audit row and, for
 * a request with an Idempotency-Key, the stored answer.
 */
import { AUDIT_COLUMNS, type AuditRow, auditValues } from './audit.ts';
import type { Tx } from './client.ts';
import {
  ANSWER_COLUMNS,
  answerValues,
  type IdempotencyKey,
  REPLACE_EXPIRED,
  type StoredResponse,
} from './idempotency.ts';
import { EVENT_COLUMNS, EVENT_RECORD, eventRecords, type NewOutboxEvent } from './outbox.ts';

export type MutationRecord = Readonly<{
  audit: AuditRow;
  events: readonly NewOutboxEvent[];
  answer: Readonly<{ id: IdempotencyKey; stored: StoredResponse }> | null;
}>;

const placeholders = (first: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `$${first + index}`).join(', ');

export const insertRecord = (tx: Tx, { audit, events, answer }: MutationRecord): Promise<unknown> => {
  const values: unknown[] = [];
  const add = (more: readonly unknown[]): string => {
    const text = placeholders(values.length + 1, more.length);
    values.push(...more);
    return text;
  };
  const beside: string[] = [];
  if (events.length > 0)
    beside.push(`event as (
      insert into outbox_events (${EVENT_COLUMNS}) select * from jsonb_to_recordset(${add([eventRecords(events)])}::jsonb) as e ${EVENT_RECORD})`);
  if (answer !== null)
    beside.push(`answer as (
      insert into idempotency_keys (${ANSWER_COLUMNS}) values (${add(answerValues(answer.id, answer.stored))}) ${REPLACE_EXPIRED})`);
  return tx.query(
    `${beside.length > 0 ? `with ${beside.join(', ')} ` : ''}insert into audit_logs (${AUDIT_COLUMNS}) values (${add(auditValues(audit))})`,
    values,
  );
};
