/**
 * The outbox: events commit with their change, and are read in commit order. The `xid` of a row is its place in that
 * order: the id of its transaction, or a higher one that had ended before the event was written. Readers take only rows
 * below the oldest transaction of this database still running, so a row that commits late is never skipped
 * (`gpuaas_settled_xid` and `gpuaas_event_place`, with the reasons in their migrations and in
 * doc/architecture/events.md). Transaction ids are text, because they exceed a double.
 */
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { OutboxEvents } from './types.gen.ts';

export type NewOutboxEvent = Readonly<
  Pick<OutboxEvents, 'event_type' | 'organization_id' | 'project_id' | 'subject' | 'correlation_id'> & {
    data: object;
  }
>;

/**
 * Ids of one process rise strictly, so events of one transaction keep the order in which they were emitted: within a
 * millisecond plain ids have no order. The step is random, so the next id still cannot be guessed.
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
let lastId = '';

const mintEventId = (): string => {
  const id = mintId('evt');
  lastId = id > lastId ? id : successor(lastId);
  return lastId;
};

const successor = (id: string): string => {
  const digits = [...id];
  let carry = 1 + Math.floor(Math.random() * 2 ** 30);
  for (let at = digits.length - 1; carry > 0 && digits[at] !== '_'; at--) {
    const sum = DIGITS.indexOf(digits[at] ?? '0') + (carry % 32);
    digits[at] = DIGITS[sum % 32] ?? '0';
    carry = Math.floor(carry / 32) + Math.floor(sum / 32);
  }
  return digits.join('');
};

const EVENT_COLUMNS = 'id, event_type, organization_id, project_id, subject, data, correlation_id';
/** For a statement that writes events with other rows: `events` is `eventRecords`, as jsonb; a row of it is `e`. */
export const INSERT_EVENTS = `insert into outbox_events (${EVENT_COLUMNS}) select e.* from jsonb_to_recordset(:events)
  as e (id text, event_type text, organization_id text, project_id text, subject text, data jsonb, correlation_id text)`;

/** In the order in which they happened. */
export const eventRecords = (events: readonly NewOutboxEvent[]): readonly object[] =>
  events.map((event) => ({ ...event, id: mintEventId() }));

const INSERT_OUTBOX_EVENT = statement(
  {
    id: 'text',
    event_type: 'text',
    organization_id: 'text | null',
    project_id: 'text | null',
    subject: 'text',
    data: 'jsonb',
    correlation_id: 'text',
  },
  `insert into outbox_events (${EVENT_COLUMNS})
   values (:id, :event_type, :organization_id, :project_id, :subject, :data, :correlation_id)`,
);

export const insertOutboxEvent = async (tx: Tx, event: NewOutboxEvent): Promise<void> => {
  await INSERT_OUTBOX_EVENT.query(tx, { ...event, id: mintEventId() });
};

export type OutboxRow = NewOutboxEvent &
  Readonly<{
    id: string;
    xid: string;
    /** The id of its transaction, for snapshots. */
    writer_xid: string;
    created_at: string;
  }>;
/** A place in commit order. */
export type OutboxPosition = Readonly<{ xid: string; id: string }>;

/** Transaction ids: numbers of up to 20 digits without leading zeros. */
export const isBelow = (a: string, b: string): boolean => (a.length === b.length ? a < b : a.length < b.length);

/** In commit order. */
export const isAfter = (one: OutboxPosition, other: OutboxPosition): boolean =>
  one.xid === other.xid ? one.id > other.id : isBelow(other.xid, one.xid);

/** Older rows have only one of them. */
const WRITER = 'coalesce(writer_xid, outbox_events.xid)';
const COLUMNS = `id, xid::text as xid, ${WRITER}::text as writer_xid, event_type, organization_id, project_id, subject, data, correlation_id, created_at`;
/** A sub-select, so that it is evaluated once and not for each row. */
const SETTLED = 'xid < (select gpuaas_settled_xid())';

/** Durably committed and not yet sent, in commit order. */
export const listUnsentEvents = async (reader: Reader, limit: number): Promise<OutboxRow[]> =>
  (
    await queryByIndex<OutboxRow>(
      reader,
      `select ${COLUMNS} from outbox_events where sent_at is null and ${SETTLED} order by outbox_events.xid, id limit $1`,
      [limit],
    )
  ).rows;

/** By id alone: with `sent_at is null` in the condition the planner walks the whole backlog for each batch. */
export const moveEventsToSent = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await queryByIndex(
    tx,
    `update outbox_events set sent_at = clock_timestamp(), attempt_count = attempt_count + 1, last_error = null
     where id = any($1::text[])`,
    [ids],
  );
};

export const recordSendFailure = async (tx: Tx, ids: readonly string[], error: string): Promise<void> => {
  await queryByIndex(
    tx,
    `update outbox_events set attempt_count = attempt_count + 1,
       last_error = case when sent_at is null then left($2, 500) end
     where id = any($1::text[])`,
    [ids, error],
  );
};

/** Counting stops here, so that a long outage does not make it slow. */
const UNSENT_COUNTED_MAX = 10_000;

/** How far the relay is behind. The age is that of the first one in commit order, which holds back the others. */
export const outboxLag = async (reader: Reader): Promise<{ unsent: number; oldest_age_s: number }> => {
  const { rows } = await queryByIndex<{ unsent: number; oldest_age_s: number }>(
    reader,
    `select (select count(*) from (select from outbox_events where sent_at is null limit $1) o) as unsent,
       coalesce((select greatest(extract(epoch from clock_timestamp() - created_at), 0) from outbox_events
         where sent_at is null order by xid, id limit 1), 0)::float8 as oldest_age_s`,
    [UNSENT_COUNTED_MAX],
  );
  return rows[0] ?? { unsent: 0, oldest_age_s: 0 };
};

/** How long committed events have waited for an older transaction of this database; 0 when none waits. */
export const commitOrderDelay = async (reader: Reader): Promise<number> => {
  const { rows } = await reader.query<{ delay_s: number }>(
    `select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as delay_s
     from outbox_events where sent_at is null and not (${SETTLED})`,
  );
  return rows[0]?.delay_s ?? 0;
};

/** Where a stream starts: which transactions have ended, and the position before which all of this database have. */
export const getFeedStart = async (
  reader: Reader,
): Promise<Readonly<{ snapshot: string; position: OutboxPosition }>> => {
  const { rows } = await reader.query<{ snapshot: string; settled: string }>(
    'select pg_current_snapshot()::text as snapshot, gpuaas_settled_xid()::text as settled',
  );
  return { snapshot: rows[0]?.snapshot ?? '', position: { xid: rows[0]?.settled ?? '0', id: '' } };
};

/** Which transactions have ended, as text: `not pg_visible_in_snapshot` of it matches later ones. */
export const getSnapshot = async (reader: Reader): Promise<string> => {
  const { rows } = await reader.query<{ snapshot: string }>('select pg_current_snapshot()::text as snapshot');
  return rows[0]?.snapshot ?? '';
};

/** The first transaction id that was not yet assigned in a snapshot. It never falls, unless the database was restored. */
export const xmaxOf = (snapshot: string): string => snapshot.split(':')[1] ?? '0';

/** The same rule for the writers of rows that were already read: `pg_visible_in_snapshot` of a snapshot. */
export const visibleIn = (snapshot: string): ((xid: string) => boolean) => {
  const [xmin = '0', xmax = '0', list = ''] = snapshot.split(':');
  const running = new Set(list.split(','));
  return (xid) => isBelow(xid, xmin) || (isBelow(xid, xmax) && !running.has(xid));
};

/** The events of a project, of an organization with all its projects, or null: of the whole platform. */
export type EventsOf = Readonly<{ project_id: string } | { organization_id: string }> | null;

/** The column that selects them, each with an index in commit order, and its value. */
const selectionOf = (of: EventsOf): readonly [column: 'project_id' | 'organization_id', id: string] | null => {
  if (of === null) return null;
  return 'project_id' in of ? ['project_id', of.project_id] : ['organization_id', of.organization_id];
};

export const findEventPosition = async (
  reader: Reader,
  of: EventsOf,
  eventId: string,
): Promise<OutboxPosition | undefined> => {
  const [column, id] = selectionOf(of) ?? [null, null];
  const { rows } = await reader.query<OutboxPosition>(
    `select id, xid::text as xid from outbox_events where id = $1 ${column === null ? '' : `and ${column} = $2`}`,
    [eventId, ...(id === null ? [] : [id])],
  );
  return rows[0];
};

/**
 * Settled events in commit order, after a position, without those visible in `not_in`. There is a text for each kind of
 * selection, because each uses its own index.
 */
export const listEvents = async (
  reader: Reader,
  options: Readonly<{
    of: EventsOf;
    after: OutboxPosition;
    not_in?: string | undefined;
    type?: string | undefined;
    limit: number;
  }>,
): Promise<OutboxRow[]> => {
  const [column, id] = selectionOf(options.of) ?? [null, null];
  const { rows } = await queryByIndex<OutboxRow>(
    reader,
    `select ${COLUMNS} from outbox_events
     where (outbox_events.xid, id) > ($1::xid8, $2) and outbox_events.${SETTLED}
       and ($3::text is null or event_type = $3)
       and ($4::pg_snapshot is null or not pg_visible_in_snapshot(${WRITER}, $4::pg_snapshot))
       ${column === null ? '' : `and ${column} = $6`}
     order by outbox_events.xid, id limit $5`,
    [
      options.after.xid,
      options.after.id,
      options.type ?? null,
      options.not_in ?? null,
      options.limit,
      ...(id === null ? [] : [id]),
    ],
  );
  return rows;
};

export const OUTBOX_KEEP_DAYS = 7;

/** Unsent events are kept at any age. */
export const deleteOldEvents = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from outbox_events
         where created_at < now() - make_interval(days => $1) and sent_at is not null
         order by created_at limit $2 for update skip locked)
       delete from outbox_events e using old where e.id = old.id`,
      [OUTBOX_KEEP_DAYS, limit],
    )
  ).rowCount;
