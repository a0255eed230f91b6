/**
 * The records of every mutation, in one statement that is sent with the commit: its events, its audit row and, for a
 * request with an Idempotency-Key, the stored response.
 */
import { mintId } from '@gpuaas/kit';
import { AUDIT_PARAMETERS, type AuditRow, INSERT_AUDIT } from '../audit.ts';
import type { Tx } from '../client.ts';
import { type IdempotencyKey, INSERT_RESPONSE, RESPONSE_PARAMETERS, type StoredResponse } from '../idempotency.ts';
import { eventRecords, INSERT_EVENTS, type NewOutboxEvent } from '../outbox.ts';
import { statement } from '../statement.ts';

export type MutationRecord = Readonly<{
  audit: AuditRow;
  events: readonly NewOutboxEvent[];
  answer: Readonly<{ id: IdempotencyKey; stored: StoredResponse }> | null;
}>;

const EVENTS = `event as (${INSERT_EVENTS})`;
const RESPONSE = `response as (${INSERT_RESPONSE})`;

const AUDIT = { ...AUDIT_PARAMETERS, metadata: 'jsonb' } as const;

const STATEMENTS = {
  alone: statement(AUDIT, INSERT_AUDIT),
  events: statement({ ...AUDIT, events: 'jsonb' }, `with ${EVENTS} ${INSERT_AUDIT}`),
  response: statement({ ...AUDIT, ...RESPONSE_PARAMETERS }, `with ${RESPONSE} ${INSERT_AUDIT}`),
  both: statement({ ...AUDIT, ...RESPONSE_PARAMETERS, events: 'jsonb' }, `with ${EVENTS}, ${RESPONSE} ${INSERT_AUDIT}`),
};

export const insertRecord = (tx: Tx, { audit, events, answer }: MutationRecord): Promise<unknown> => {
  const row = { ...audit, audit_id: mintId('aud') };
  const records = events.length > 0 ? eventRecords(events) : null;
  if (answer === null)
    return records === null
      ? STATEMENTS.alone.query(tx, row)
      : STATEMENTS.events.query(tx, { ...row, events: records });
  const response = { ...row, ...answer.id, ...answer.stored };
  return records === null
    ? STATEMENTS.response.query(tx, response)
    : STATEMENTS.both.query(tx, { ...response, events: records });
};
