/**
 * Answers that are written while they are read. The reader sets the pace: nothing is fetched ahead of what the
 * connection takes. Open event streams are asked now and then whether their caller may still listen.
 */
import { once } from 'node:events';
import type { FastifyReply } from 'fastify';

const KEEP_ALIVE_MS = 15_000;

const lineOf = (format: string, item: object): string =>
  format === 'text/event-stream'
    ? `${'id' in item ? `id: ${String(item.id)}\n` : ''}${'type' in item ? `event: ${String(item.type)}\n` : ''}data: ${JSON.stringify(item)}\n\n`
    : `${JSON.stringify(item)}\n`;

export const sendStream = async (
  reply: FastifyReply,
  format: string,
  items: AsyncIterable<object>,
  stillAllowed: () => Promise<boolean>,
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
    ...(isEvents ? { 'x-accel-buffering': 'no' } : {}),
  });
  if (isEvents) raw.write(': connected\n\n');
  const closed = new AbortController();
  const end = () => {
    closed.abort();
    void iterator.return?.();
  };
  raw.on('close', end);
  const keepAlive = isEvents
    ? setInterval(() => {
        void stillAllowed().then((allowed) => {
          if (!allowed) end();
          else if (!raw.writableEnded && !raw.destroyed) raw.write(': keep-alive\n\n');
        });
      }, KEEP_ALIVE_MS)
    : undefined;
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
    clearInterval(keepAlive);
    raw.off('close', end);
  }
  return reply;
};
