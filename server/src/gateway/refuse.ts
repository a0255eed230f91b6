/** Refuses a connection before the WebSocket upgrade, with the error envelope of the contract. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS } from '@gpuaas/contract';
import type { AppError } from '../errors.ts';
import { toProblem } from '../http/problem.ts';
import { correlationIdOf } from '../http/request.ts';

export const refuse = (
  request: IncomingMessage,
  socket: Duplex,
  error: AppError,
  options: Readonly<{ public_url: string }>,
): void => {
  const correlationId = correlationIdOf(request.headers);
  const path = request.url?.split('?')[0] ?? '';
  const problem = toProblem(error, { correlation_id: correlationId, path, public_url: options.public_url });
  const body = JSON.stringify(problem);
  const { status } = ERRORS[error.code];
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-correlation-id: ${correlationId}`,
    'connection: close',
    ...(problem.retry_after_s === null ? [] : [`retry-after: ${problem.retry_after_s}`]),
  ];
  // A refused client that stays would otherwise hold the connection indefinitely: no timeout applies any more.
  socket.once('finish', () => socket.destroy());
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`);
};
