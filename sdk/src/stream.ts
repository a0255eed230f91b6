/** Readers of the two kinds of streams: JSON lines, which end, and server-sent events, which reconnect. */
import { GpuaasError } from './error.ts';

async function* chunks(response: Response, idleMaxMs: number | undefined): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await withIdleTimeout(reader.read(), idleMaxMs);
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
  } catch (err) {
    if (err instanceof GpuaasError) throw err;
    throw new GpuaasError('network', 'The stream broke off before its end.', { retryable: true, cause: err });
  } finally {
    // Leaving the loop early must close the connection, or the server keeps writing.
    await reader.cancel().catch(() => undefined);
  }
}

const withIdleTimeout = async <T>(read: Promise<T>, idleMaxMs: number | undefined): Promise<T> => {
  if (idleMaxMs === undefined) return read;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new GpuaasError('network', `The stream was silent for ${idleMaxMs / 1000} s.`, { retryable: true })),
      idleMaxMs,
    );
  });
  try {
    return await Promise.race([read, idle]);
  } finally {
    clearTimeout(timer);
  }
};

async function* lines(response: Response, separator: RegExp, idleMaxMs?: number): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks(response, idleMaxMs)) {
    const parts = (rest + chunk).split(separator);
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}

export async function* jsonLines<T>(response: Response): AsyncGenerator<T> {
  for await (const line of lines(response, /\n/)) if (line.trim() !== '') yield JSON.parse(line) as T;
}

export type ServerSentEvent = Readonly<{
  id: string | undefined;
  type: string | undefined;
  data: string;
  retryMs: number | undefined;
}>;

/**
 * Parses one connection. The server sends a comment every 15 seconds, so a longer silence means that the connection is
 * dead.
 */
export async function* serverSentEvents(response: Response, idleMaxMs: number): AsyncGenerator<ServerSentEvent> {
  let id: string | undefined;
  let retryMs: number | undefined;
  let type: string | undefined;
  let data: string[] = [];
  for await (const line of lines(response, /\r\n|\n/, idleMaxMs)) {
    if (line === '') {
      if (data.length > 0) yield { id, type, data: data.join('\n'), retryMs };
      data = [];
      type = undefined;
      continue;
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') data.push(value);
    else if (field === 'event') type = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
  }
}
