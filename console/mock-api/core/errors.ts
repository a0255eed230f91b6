/** Errors, and the one envelope of all of them. */
import { ERRORS, type ErrorCode, type Problem, type Static } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';

type ProblemBody = Static<typeof Problem>;

export type Details = Readonly<{
  errors?: ProblemBody['errors'];
  reasons?: readonly (Readonly<{ code: string }> & Readonly<Record<string, unknown>>)[];
  alternatives?: readonly Readonly<Record<string, unknown>>[];
  retry_after_s?: number;
}>;

export class Refusal extends Error {
  override name = 'Refusal';
  readonly code: ErrorCode;
  readonly details: Details;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export const notFound = (noun: string): Refusal => new Refusal('not_found', `No such ${noun}.`);
export const conflict = (sentence: string): Refusal => new Refusal('conflict', sentence);

/** Throws the sentence of a rule. True if the state is already as requested and there is nothing to do. */
export const refuse = (no: Readonly<{ reason: string; is_done: boolean }> | null): boolean => {
  if (no === null || no.is_done) return no !== null;
  throw conflict(no.reason);
};

export const resourceChanged = (version: number): Refusal =>
  new Refusal('precondition_failed', REFUSALS.changed(version));

export const invalidField = (
  name: string,
  message: string,
  code = 'not_allowed',
  sentence = `Invalid request: ${name} ${message}.`,
): Refusal =>
  new Refusal('invalid_request', sentence, {
    errors: [{ pointer: `/body/${name}`, code, message }],
  });

export const problemOf = (
  error: unknown,
  request: Readonly<{ correlation_id: string; path: string; origin: string }>,
): ProblemBody => {
  const refusal = error instanceof Refusal ? error : new Refusal('internal', REFUSALS.internal);
  const { status, retryable, title, help } = ERRORS[refusal.code];
  const docs = `${request.origin}/docs/errors/${refusal.code}`;
  return {
    type: docs,
    title,
    status,
    detail: refusal.message,
    instance: request.path,
    code: refusal.code,
    correlation_id: request.correlation_id,
    retryable,
    retry_after_s: retryable ? (refusal.details.retry_after_s ?? 1) : null,
    errors: [...(refusal.details.errors ?? [])],
    reasons: [...(refusal.details.reasons ?? [])],
    alternatives: [...(refusal.details.alternatives ?? [])],
    actions: [{ rel: 'help', href: docs, text: help }],
  };
};
