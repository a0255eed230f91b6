/** Streamed responses: JSON lines, and events with a periodic comment as a keep-alive. */
const KEEP_ALIVE_MS = 15_000;

const lineOf = (format: string, item: object): string =>
  format === 'text/event-stream'
    ? `${'id' in item ? `id: ${String(item.id)}\n` : ''}${'type' in item ? `event: ${String(item.type)}\n` : ''}data: ${JSON.stringify(item)}\n\n`
    : `${JSON.stringify(item)}\n`;

export const streamBody = (
  format: string,
  items: AsyncIterable<object>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  const iterator = items[Symbol.asyncIterator]();
  const isEvents = format === 'text/event-stream';
  let timer: ReturnType<typeof setInterval> | undefined;
  let leave = (): void => undefined;
  const stop = (): void => {
    clearInterval(timer);
    signal?.removeEventListener('abort', leave);
    void iterator.return?.();
  };
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      leave = () => {
        stop();
        controller.error(signal?.reason ?? new DOMException('The stream was left.', 'AbortError'));
      };
      signal?.addEventListener('abort', leave);
      if (!isEvents) return;
      controller.enqueue(encoder.encode(': connected\n\n'));
      timer = setInterval(() => controller.enqueue(encoder.encode(': keep-alive\n\n')), KEEP_ALIVE_MS);
      // In Node.js an unread stream must not keep the process alive.
      if (typeof timer === 'object') timer.unref();
    },
    pull: async (controller) => {
      const step = await iterator.next();
      if (signal?.aborted) return;
      if (step.done) {
        stop();
        controller.close();
      } else controller.enqueue(encoder.encode(lineOf(format, step.value)));
    },
    cancel: stop,
  });
};
