/**
 * Streaming responses. The reader sets the pace: nothing is fetched ahead of the connection. Open streams periodically
 * check whether their caller is still allowed, each caller and each organization has a limited number, and endless streams
 * end when the process stops.
 */
import { once } from 'node:events';
import { limitRefusal } from '@gpuaas/contract';
import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';

const KEEP_ALIVE_MS = 15_000;
const STREAMS_PER_CALLER_MAX = 32;

export type Streams = Readonly<{
  /**
   * Calls `end` when the process stops, immediately if it already does, unless the returned function was called before.
   */
  whenClosing(end: () => void): () => void;
  /** Counts one more stream of the caller and of the organization, until the returned function is called. */
  open(caller: string, organizationId: string | null): () => void;
}>;

/** Open streams by owner; the function that `add` returns decrements. */
const countOpen = () => {
  const counts = new Map<string, number>();
  return {
    of: (key: string): number => counts.get(key) ?? 0,
    add: (key: string): (() => void) => {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return () => {
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
  };
};

const refuseStream = (sentence: string) => new AppError('rate_limited', sentence, { retry_after_s: 5 });

export const createStreams = (closing: AbortSignal, organizationMax: number): Streams => {
  const callers = countOpen();
  const organizations = countOpen();
  // One listener for all: adding a listener to a signal scans all its listeners.
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
    open: (caller, organizationId) => {
      const count = callers.of(caller);
      if (count >= STREAMS_PER_CALLER_MAX) throw refuseStream(`You have ${count} open streams. Close one first.`);
      if (organizationId !== null && organizations.of(organizationId) >= organizationMax)
        throw refuseStream(limitRefusal('streams', organizationMax));
      const closers = [callers.add(caller), ...(organizationId === null ? [] : [organizations.add(organizationId)])];
      return () => {
        for (const close of closers) close();
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
  caller: Readonly<{
    stillAllowed(): Promise<boolean>;
    whenClosing: Streams['whenClosing'];
    problemOf(err: AppError): object;
  }>,
): Promise<FastifyReply> => {
  const iterator = items[Symbol.asyncIterator]();
  const isEvents = format === 'text/event-stream';
  // The first row decides between a response and an error, so a failed query is still a proper refusal.
  const first = isEvents ? undefined : await iterator.next();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': `${format}; charset=utf-8`,
    'cache-control': 'no-store',
    // Kept for another request, the connection would delay a stop long after its stream has ended.
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
  // Events may stop anywhere, since the client resumes; a list that stops early must not look complete.
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
    // The status is already sent; a broken connection is the only way left to show that data is missing.
    if (closed.signal.aborted) raw.destroy();
    // A client that resumes would not notice: it must read everything again.
    else if (isEvents && err instanceof AppError && err.code === 'gone')
      raw.end(`event: problem\ndata: ${JSON.stringify(caller.problemOf(err))}\n\n`);
    else raw.destroy(err instanceof Error ? err : new Error(String(err)));
  } finally {
    clearInterval(watch);
    raw.off('close', end);
    stayOpen?.();
    end();
  }
  return reply;
};
