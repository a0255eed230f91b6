/**
 * Runs the contract's schemas on the host. A schema is compiled when it is first needed and then serves every agent of
 * the process: a thousand simulated agents share one set.
 */
import { type NodeOperationId, nodeApi, TASKS, type TaskKind, TaskPayloadShape } from '@gpuaas/contract/node';
import { ClientMessage } from '@gpuaas/contract/stream';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// Both module systems end up here with different wrappings of the same function.
const add = (addFormats as unknown as { default?: typeof addFormats }).default ?? addFormats;
const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true });
(add as unknown as (ajv: Ajv2020, formats: string[]) => void)(ajv, ['date-time']);

const compiled = new Map<object, ValidateFunction>();
const validatorOf = (schema: object): ValidateFunction => {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
};

const sentence = (errors: readonly ErrorObject[] | null | undefined): string => {
  const error = errors?.[0];
  if (error === undefined) return 'is not valid';
  const extra = error.keyword === 'additionalProperties' ? ` (${String(error.params['additionalProperty'])})` : '';
  return `${error.instancePath || '/'} ${error.message ?? 'is not valid'}${extra}`;
};

/** Null if the value is valid, else where and why it is not. */
const mismatch = (schema: object, value: unknown): string | null => {
  const validate = validatorOf(schema);
  return validate(value) ? null : sentence(validate.errors);
};

export const paramsMismatch = (kind: TaskKind, params: unknown): string | null => mismatch(TASKS[kind].params, params);
export const outputMismatch = (kind: TaskKind, output: unknown): string | null => mismatch(TASKS[kind].output, output);
export const responseMismatch = (operation: NodeOperationId, answer: unknown): string | null => {
  const schema = nodeApi[operation].response;
  return schema === null ? null : mismatch(schema, answer);
};

export const clientMessageMismatch = (value: unknown): string | null => mismatch(ClientMessage, value);
export const payloadMismatch = (value: unknown): string | null => mismatch(TaskPayloadShape, value);
