/**
 * Events to NATS JetStream. The event id is the message id, so a repeated publish is stored once; each message of a
 * batch names its predecessor as the expected last one, so a failure in the middle fails all later messages and the
 * order is kept with pipelining. The stream is created when it is missing and otherwise left as the operator configured
 * it.
 *
 * The connection does not reconnect automatically: after any failure it is dropped, and the next attempt opens a new
 * one. A client that reconnects on its own would keep unacknowledged messages and send them at an arbitrary time.
 */
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import { connect, headers, type NatsConnection, nanos } from '@nats-io/transport-node';
import { ACK_TIMEOUT_MS, type OutgoingEvent, type Publisher } from './publisher.ts';

export const STREAM = 'GPUAAS';
export const SUBJECT_PREFIX = 'gpuaas';
const MAX_AGE_MS = 7 * 24 * 3_600_000;
const DUPLICATE_WINDOW_MS = 3_600_000;

type Link = Readonly<{ connection: NatsConnection; stream: JetStreamClient }>;

const ensureStream = async (connection: NatsConnection, timeout: number): Promise<void> => {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout });
  try {
    await manager.streams.info(STREAM);
  } catch (err) {
    if (!(err instanceof JetStreamApiError) || err.code !== JetStreamApiCodes.StreamNotFound) throw err;
    await manager.streams.add({
      name: STREAM,
      subjects: [`${SUBJECT_PREFIX}.>`],
      max_age: nanos(MAX_AGE_MS),
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    });
  }
};

const connectOptions = (text: string) => {
  const url = new URL(text.includes('://') ? text : `nats://${text}`);
  return {
    servers: url.host,
    ...(url.username && url.password
      ? { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
      : {}),
    ...(url.username && !url.password ? { token: decodeURIComponent(url.username) } : {}),
    ...(url.protocol === 'tls:' ? { tls: {} } : {}),
  };
};

const open = async (url: string, timeout: number): Promise<Link> => {
  const connection = await connect({
    ...connectOptions(url),
    name: 'gpuaas-outbox-relay',
    reconnect: false,
    timeout,
    pingInterval: 10_000,
    maxPingOut: 2,
  });
  try {
    await ensureStream(connection, timeout);
    return { connection, stream: jetstream(connection, { timeout }) };
  } catch (err) {
    await connection.close();
    throw err;
  }
};

const send = (stream: JetStreamClient, event: OutgoingEvent, before: OutgoingEvent | undefined, timeout: number) => {
  const head = headers();
  head.set('Content-Type', 'application/cloudevents+json');
  return stream.publish(`${SUBJECT_PREFIX}.${event.type}`, JSON.stringify(event), {
    msgID: event.id,
    headers: head,
    timeout,
    ...(before === undefined ? {} : { expect: { lastMsgID: before.id } }),
  });
};

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

export const createNatsPublisher = (options: Readonly<{ url: string; timeout_ms?: number }>): Publisher => {
  const { url, timeout_ms = ACK_TIMEOUT_MS } = options;
  let link: Link | undefined;
  const drop = async (): Promise<void> => {
    const dropped = link;
    link = undefined;
    await dropped?.connection.close().catch(() => {});
  };

  return {
    publish: async (events) => {
      try {
        if (link?.connection.isClosed()) link = undefined;
        link ??= await open(url, timeout_ms);
        const { stream } = link;
        const acks = await Promise.allSettled(
          events.map((event, index) => send(stream, event, events[index - 1], timeout_ms)),
        );
        const failed = acks.findIndex((ack) => ack.status === 'rejected');
        if (failed === -1) return { acknowledged: events.length, error: null };
        await drop();
        const ack = acks[failed];
        return { acknowledged: failed, error: asError(ack?.status === 'rejected' ? ack.reason : undefined) };
      } catch (err) {
        await drop();
        return { acknowledged: 0, error: asError(err) };
      }
    },
    close: drop,
  };
};
