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

const placeholders = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, index) => `$${first + index}`).join(', ');

const AUDIT = `insert into audit_logs (${AUDIT_COLUMNS}) values (${placeholders(1, 16)})`;
const EVENTS = `event as (
  insert into outbox_events (${EVENT_COLUMNS}) select * from jsonb_to_recordset($17::jsonb) as e ${EVENT_RECORD})`;
const answerFrom = (first: number) => `answer as (
  insert into idempotency_keys (${ANSWER_COLUMNS}) values (${placeholders(first, first + 7)}) ${REPLACE_EXPIRED})`;

/** Texts are made once: a long text that is put together for every query costs more than its values. */
const TEXTS = {
  alone: AUDIT,
  events: `with ${EVENTS} ${AUDIT}`,
  answer: `with ${answerFrom(17)} ${AUDIT}`,
  both: `with ${EVENTS}, ${answerFrom(18)} ${AUDIT}`,
};

export const insertRecord = (tx: Tx, { audit, events, answer }: MutationRecord): Promise<unknown> => {
  const values = auditValues(audit);
  if (events.length > 0) values.push(eventRecords(events));
  if (answer !== null) values.push(...answerValues(answer.id, answer.stored));
  if (events.length > 0) return tx.query(answer === null ? TEXTS.events : TEXTS.both, values);
  return tx.query(answer === null ? TEXTS.alone : TEXTS.answer, values);
};
