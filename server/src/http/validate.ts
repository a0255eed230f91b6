/**
 * Runs the contract's schemas. Bodies are strict: nothing is coerced and unknown fields are refused. Queries and paths
 * are text, so their numbers and booleans are coerced. Responses are checked in tests and when asked for.
 */
import type { Operation } from '@gpuaas/contract';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { AppError, type FieldError } from '../errors.ts';
import { createAjv } from '../schema.ts';

const ERRORS_SHOWN_MAX = 20;

const options = { allErrors: true, useDefaults: true } as const;

const strict = createAjv(options);
// Text such as 1e400 coerces to infinity, which strict numbers would let past `maximum` instead of refusing it.
const coercing = createAjv({ ...options, coerceTypes: true, strictNumbers: false });

export type Part = 'params' | 'query' | 'body';

const pointerOf = (part: string, error: ErrorObject): string => {
  const extra =
    error.keyword === 'required'
      ? `/${String(error.params['missingProperty'])}`
      : error.keyword === 'additionalProperties'
        ? `/${String(error.params['additionalProperty'])}`
        : '';
  return `/${part}${error.instancePath}${extra}`.slice(0, 200);
};

const sentenceOf = (error: ErrorObject): string => {
  switch (error.keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a field of this request';
    case 'enum':
      return `must be one of ${(error.params['allowedValues'] as unknown[]).join(', ')}`;
    case 'pattern':
      return `does not have the required form (${String(error.params['pattern'])})`.slice(0, 200);
    default:
      return error.message ?? 'is not valid';
  }
};

const toFieldErrors = (part: string, errors: readonly ErrorObject[]): FieldError[] =>
  errors.slice(0, ERRORS_SHOWN_MAX).map((error) => ({
    pointer: pointerOf(part, error),
    code: error.keyword === 'additionalProperties' ? 'unknown_field' : error.keyword,
    message: sentenceOf(error),
  }));

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const NOTHING: Record<string, never> = Object.freeze({});

/** Compiling every schema takes a second, so each is compiled on first use. */
const atFirstUse = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

/** A function that returns the valid value (defaults filled in) or throws `invalid_request` naming each field. */
const compile = (part: Part, schema: object | undefined): ((value: unknown) => unknown) => {
  if (schema === undefined) {
    return (value) => {
      const isNothing = value === undefined || (isRecord(value) && Object.keys(value).length === 0);
      if (!isNothing)
        throw invalid(part, [
          { pointer: `/${part}`, code: 'unknown_field', message: `this operation takes no ${part}` },
        ]);
      return NOTHING;
    };
  }
  const validator = atFirstUse(() => (part === 'body' ? strict : coercing).compile(schema));
  return (value) => {
    const subject = value === undefined ? {} : value;
    const validate = validator();
    if (!validate(subject)) throw invalid(part, toFieldErrors(part, validate.errors ?? []));
    return subject;
  };
};

const invalid = (part: Part, errors: readonly FieldError[]): AppError => {
  const first = errors[0];
  const where = first ? `${first.pointer.slice(1).replaceAll('/', '.')} ${first.message}` : `the ${part} is not valid`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new AppError('invalid_request', `Invalid request: ${where}${more}.`, { errors });
};

export type Validators = Readonly<
  Record<Part, (value: unknown) => unknown> & {
    /** Of an operation that returns something. */ response: (() => ValidateFunction) | null;
  }
>;

const responseValidator = (schema: Operation['response']): Validators['response'] =>
  schema === null ? null : atFirstUse(() => strict.compile(schema));

export const compileOperation = (operation: Pick<Operation, 'params' | 'query' | 'body' | 'response'>): Validators => ({
  params: compile('params', operation.params),
  query: compile('query', operation.query),
  body: compile('body', operation.body),
  response: responseValidator(operation.response),
});
