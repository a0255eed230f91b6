/**
 * Whether a cookie request was made by our own pages. A foreign page can make a browser send the cookie, but it cannot
 * add a custom header without a preflight, which we never allow, nor fake our origin. A request with an Authorization
 * header is exempt: no browser adds one automatically.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';

export const CONSOLE_HEADER = 'x-gpuaas-console';

const refuse = (sentence: string): AppError => new AppError('permission_denied', sentence);

/** Throws for a request that another site caused. */
export const assertOwnPage = (
  request: Readonly<{ method: string; headers: IncomingHttpHeaders }>,
  ownOrigin: string,
): void => {
  const { headers, method } = request;
  const site = headers['sec-fetch-site'];
  if (method === 'GET' || method === 'HEAD') {
    const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (isForeign && headers['sec-fetch-mode'] !== 'navigate')
      throw refuse('Another site sent this request. With a browser sign-in only the console may send it.');
    return;
  }
  if (headers[CONSOLE_HEADER] !== '1')
    throw refuse(
      `With a browser sign-in a change needs the header ${CONSOLE_HEADER}: 1, which only the console sends.`,
    );
  if (site !== undefined && site !== 'same-origin')
    throw refuse('Another site sent this request. With a browser sign-in only the console may send it.');
  const { origin } = headers;
  if (origin !== undefined && origin !== ownOrigin)
    throw refuse(
      `A page of ${origin.slice(0, 200)} sent this request. With a browser sign-in only ${ownOrigin} may send it.`,
    );
};
