/** Reads the body of a request, up to the limit of its operation. */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';
import { parseJson } from '../http/json.ts';

/** A discovery of a large host, or a full batch of log lines. */
const VALUES_MAX = 200_000;

export const readBody = async (request: IncomingMessage, bytesMax: number): Promise<unknown> => {
  const tooLarge = () => new AppError('payload_too_large', `The body is larger than ${bytesMax} bytes.`);
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new AppError('unsupported_media_type', 'Send the body as application/json.');
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > bytesMax) throw tooLarge();
    parts.push(part);
  }
  return parseJson(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts), VALUES_MAX);
};
