/**
 * The errors that an operation can return, derived from its definition: the reference lists them and the tests check
 * the server against them. Codes are in the order of their status.
 */
import type { Operation } from '../define.ts';
import { ERROR_CODES, ERRORS, type ErrorCode } from '../errors.ts';

export const errorsOf = (operation: Operation): readonly ErrorCode[] => {
  // A path, a header or a query string can be malformed in every request, so invalid_request is everywhere.
  const codes = new Set<ErrorCode>(['invalid_request', 'rate_limited', 'internal', 'unavailable']);
  const add = (...more: readonly ErrorCode[]) => {
    for (const code of more) codes.add(code);
  };
  if (operation.access !== 'public') add('unauthenticated', 'permission_denied');
  if (operation.freshSignIn) add('fresh_sign_in_required');
  if (operation.params) add('not_found');
  if (operation.body) add('request_timeout', 'payload_too_large', 'unsupported_media_type');
  if (operation.idempotency === 'required')
    add('idempotency_key_missing', 'idempotency_in_flight', 'idempotency_key_reused');
  if (operation.ifMatch) add('precondition_failed', 'precondition_required');
  if (operation.stream === 'text/event-stream') add('gone');
  add(...(operation.errors ?? []));
  return ERROR_CODES.filter((code) => codes.has(code)).sort((a, b) => ERRORS[a].status - ERRORS[b].status);
};
