/**
 * Streaming responses. The reader sets the pace: nothing is fetched ahead of the connection. Open streams periodically
 * check whether their caller is still allowed, each caller has a limited number, and endless streams end when the
 * process stops.
 */
import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';

const KEEP_ALIVE_MS = 15_000;
const STREAMS_PER_CALLER_MAX = 32;

export type Streams = Readonly<{
  /** Calls `end` when the process stops, at once if it already does, unless the returned function was called before. */
  whenClosing(end: () => void): () => void;
  /** Counts one more stream of the caller, until the returned function is called. */
  open(caller: string): () => void;
}>;

export const createStreams = (closing: AbortSignal): Streams => {
  const counts = new Map<string, number>();
  // One listener for all: a signal looks through all its listeners for each that is added.
  const ends = new Set<() => void>();
  closing.addEventListener('abort', () => {
    for (const end of ends) end();
  });
  return {
    whenClosing: (end) => {
      if (closing.aborted) end();
      else ends.add(end);
      return () => void ends.delete(end);
    },
    open: (caller) => {
      const count = counts.get(caller) ?? 0;
      if (count >= STREAMS_PER_CALLER_MAX)
        throw new AppError('rate_limited', `You have ${count} open streams. Close one first.`, { retry_after_s: 5 });
      counts.set(caller, count + 1);
      return () => {
        const left = (counts.get(caller) ?? 1) - 1;
        if (left === 0) counts.delete(caller);
        else counts.set(caller, left);
      };
    },
  };
};

/** A reason that costs no stack trace: thousands of streams may end at once. */
const CLOSED = 'closed';

const lineOf = (format: string, item: object): string =>
  format === 'text/event-stream'
    ? `${'id' in item ? `id: ${String(item.id)}\n` : ''}${'type' in item ? `event: ${String(item.type)}\n` : ''}data: ${JSON.stringify(item)}\n\n`
    : `${JSON.stringify(item)}\n`;

export const sendStream = async (
  reply: FastifyReply,
  format: string,
  items: AsyncIterable<object>,
  caller: Readonly<{ stillAllowed(): Promise<boolean>; whenClosing: Streams['whenClosing'] }>,
): Promise<FastifyReply> => {
  const iterator = items[Symbol.asyncIterator]();
  const isEvents = format === 'text/event-stream';
  // The first row decides between an answer and an error, so a failed query is still a proper refusal.
  const first = isEvents ? undefined : await iterator.next();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': `${format}; charset=utf-8`,
    'cache-control': 'no-store',
    // Kept for another request, the connection would hold up a stop long after its stream has ended.
    connection: 'close',
    ...(isEvents ? { 'x-accel-buffering': 'no' } : {}),
  });
  if (isEvents) raw.write(': connected\n\n');
  const closed = new AbortController();
  const end = () => {
    closed.abort(CLOSED);
    void iterator.return?.();
  };
  raw.on('close', end);
  // Events may stop anywhere, since the client comes back for the rest; a list that stops early must not look whole.
  const stayOpen = isEvents ? caller.whenClosing(end) : undefined;
  if (raw.destroyed) end();
  const watch = setInterval(() => {
    void caller.stillAllowed().then((allowed) => {
      if (!allowed && isEvents) end();
      else if (!allowed) raw.destroy();
      else if (isEvents && !raw.writableEnded && !raw.writableNeedDrain && !raw.destroyed)
        raw.write(': keep-alive\n\n');
    });
  }, KEEP_ALIVE_MS);
  try {
    for (let step = first ?? (await iterator.next()); !step.done && !raw.destroyed; step = await iterator.next()) {
      if (!raw.write(lineOf(format, step.value)) && !raw.destroyed) await once(raw, 'drain', { signal: closed.signal });
    }
    raw.end();
  } catch (err) {
    // The status is already out; a broken connection is the only honest way left to say that this is not all.
    if (closed.signal.aborted) raw.destroy();
    else raw.destroy(err instanceof Error ? err : new Error(String(err)));
  } finally {
    clearInterval(watch);
    raw.off('close', end);
    stayOpen?.();
    end();
  }
  return reply;
};
