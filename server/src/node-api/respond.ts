/** Responses to agents: a body, the bytes of a release, or the error envelope of the contract. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Log } from '@gpuaas/kit';
import type { Peer } from '../agents/certificate-register.ts';
import type { Caller, NodeRefusal } from '../agents/refusal-audit.ts';
import type { AppError } from '../errors.ts';
import { toProblem } from '../http/problem.ts';
import { addressBlock, createRateLimit } from '../http/rate-limit.ts';
import type { NodeHandlers } from './handlers.ts';
import type { Route } from './route.ts';

/** The progress of a request. */
export type Passing = { route: Route | null; peer: Peer | null; node_id: string | null; leave: () => void };

export type RespondOptions = Readonly<{
  /** The address of the error documentation. */
  public_url: string;
  audit: (caller: Caller, refusal: NodeRefusal) => Promise<void>;
  nowMs: () => number;
  isClosing: () => boolean;
  log: Log;
}>;

/** Audit rows about refused agents, per address and minute. */
const AUDIT_ROWS_PER_MINUTE = 6;
/** The rest of a body this small is read, so that the connection can be reused. */
const LEFT_OVER_MAX = 64 * 1024;

const isSmall = (request: IncomingMessage): boolean =>
  Number(request.headers['content-length'] ?? Number.NaN) <= LEFT_OVER_MAX;

export const createRespond = (options: RespondOptions) => {
  const auditRows = createRateLimit(AUDIT_ROWS_PER_MINUTE);

  /**
   * Header pairs in one array are written as they are; setting headers one by one costs a poll more than its JSON does.
   */
  const headersOf = (caller: Caller, type: string, size: number): (string | number)[] => [
    'x-correlation-id',
    caller.correlation_id,
    'content-type',
    type,
    'content-length',
    size,
  ];

  const send = (response: ServerResponse, caller: Caller, status: number, type: string, text: string): void => {
    if (options.isClosing()) response.setHeader('connection', 'close');
    response.writeHead(status, headersOf(caller, type, Buffer.byteLength(text)));
    response.end(text);
  };

  const auditRefusal = async (caller: Caller, passing: Passing, route: Route, error: AppError): Promise<void> => {
    if (auditRows.take(addressBlock(caller.source_ip), options.nowMs()) > 0) return;
    await options.audit(caller, {
      node_id: passing.node_id,
      peer_node_id: passing.peer?.node_id ?? null,
      operation: route.id,
      policy: error.message,
    });
  };

  return {
    answer: async (response: ServerResponse, caller: Caller, route: Route, answer: unknown): Promise<void> => {
      if (route.operation.response !== null)
        return send(response, caller, 200, 'application/json', JSON.stringify(answer));
      const { stream, size } = answer as Awaited<ReturnType<NodeHandlers['agentReleaseGet']>>;
      response.writeHead(200, headersOf(caller, 'application/octet-stream', size));
      await pipeline(stream, response);
    },
    refuse: async (
      request: IncomingMessage,
      response: ServerResponse,
      caller: Caller,
      passing: Passing,
      error: AppError,
    ): Promise<void> => {
      const { correlation_id } = caller;
      const { route } = passing;
      const path = request.url?.split('?')[0] ?? '';
      const problem = toProblem(error, { correlation_id, path, public_url: options.public_url });
      if (problem.status >= 500)
        options.log.error(
          { correlation_id, error_code: error.code, operation: route?.id, err: error.cause ?? error },
          error.message,
        );
      // Enrollment writes its own rows, with the node of the token.
      if (error.code === 'permission_denied' && route?.operation.auth === 'certificate') {
        response.setHeader('connection', 'close');
        await auditRefusal(caller, passing, route, error);
      }
      // The unread rest of the body would be parsed as the next request, or read for nothing.
      if (!request.complete && !(error.code === 'rate_limited' && isSmall(request)))
        response.setHeader('connection', 'close');
      if (problem.retry_after_s !== null) response.setHeader('retry-after', String(problem.retry_after_s));
      send(response, caller, problem.status, 'application/problem+json; charset=utf-8', JSON.stringify(problem));
    },
  };
};
