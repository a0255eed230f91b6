/** Certificates requested by gateways, which have no signing key. A request is answered once. */
import type { Reader, Tx } from './client.ts';
import type { ListenerRequests } from './types.gen.ts';

export type ListenerRequestRow = Readonly<Pick<ListenerRequests, 'id' | 'names' | 'csr_pem'>>;
export type ListenerAnswer = Readonly<Pick<ListenerRequests, 'certificate_pem' | 'ca_key_id' | 'refusal'>>;

export const insertListenerRequest = async (tx: Tx, request: ListenerRequestRow): Promise<void> => {
  await tx.query('insert into listener_requests (id, names, csr_pem) values ($1, $2, $3)', [
    request.id,
    request.names,
    request.csr_pem,
  ]);
};

/** Undefined until it is answered. */
export const findListenerAnswer = async (reader: Reader, id: string): Promise<ListenerAnswer | undefined> =>
  (
    await reader.query<ListenerAnswer>(
      'select certificate_pem, ca_key_id, refusal from listener_requests where id = $1 and answered_at is not null',
      [id],
    )
  ).rows[0];

export const lockOpenListenerRequests = async (tx: Tx, limit: number): Promise<ListenerRequestRow[]> =>
  (
    await tx.query<ListenerRequestRow>(
      `select id, names, csr_pem from listener_requests where answered_at is null
       order by created_at limit $1 for update skip locked`,
      [limit],
    )
  ).rows;

export const answerListenerRequest = async (tx: Tx, id: string, answer: ListenerAnswer): Promise<void> => {
  await tx.query(
    `update listener_requests set answered_at = clock_timestamp(), certificate_pem = $2, ca_key_id = $3, refusal = $4
     where id = $1 and answered_at is null`,
    [id, answer.certificate_pem, answer.ca_key_id, answer.refusal],
  );
};

/** A certificate is renewed after half a week; its request explains it until then. */
export const deleteOldListenerRequests = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `delete from listener_requests where id in (
         select id from listener_requests where created_at < now() - interval '7 days' order by created_at limit $1)`,
      [limit],
    )
  ).rowCount;
