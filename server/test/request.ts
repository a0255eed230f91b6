/** Converts a request in the contract's terms into one on the wire, for tests over the operation table. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { api, type Operation, type OperationId, Problem } from '@gpuaas/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Caller, TestResponse } from './app.ts';
import type { Tenant } from './tenants.ts';

export const operations = Object.entries(api) as [OperationId, Operation][];

export type Parts = Readonly<{
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  if_match?: number;
}>;

export const urlOf = (operation: Operation, parts: Parts): string => {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts.params?.[name] ?? name);
  const query = new URLSearchParams(
    Object.entries(parts.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return query.size === 0 ? path : `${path}?${query}`;
};

export const headersOf = (operation: Operation, parts: Parts): Record<string, string> => ({
  ...(operation.idempotency === 'required' ? { 'idempotency-key': randomUUID() } : {}),
  ...(parts.if_match === undefined ? {} : { 'if-match': `"v${parts.if_match}"` }),
});

export const ask = (
  caller: Caller,
  operation: Operation,
  parts: Parts,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> =>
  caller.call(operation.method, urlOf(operation, parts), parts.body, { ...headersOf(operation, parts), ...headers });

/** Names of the ids in the path, outermost first. */
export const paramsOf = (operation: Operation): string[] =>
  [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

const NAMES = {
  sku_name: 'h200-sxm-slice',
  region_name: 'us-buffalo-1',
  image_name: 'ubuntu-24.04-h200-cuda',
  vm_profile_name: 'h200_1g_24c_64g',
  pool_name: 'test',
};
/** A value for every path parameter. */
export const idsOf = (tenant: Tenant): Record<string, string> => ({ ...tenant.ids, ...NAMES });

/** A new correlation ID, to find the rows of the request. */
export const tagged = () => ({ 'x-correlation-id': `test-${randomUUID()}` });

const isProblem = new Ajv2020({ strict: false, validateFormats: false }).compile(Problem);

export const assertProblem = (what: string, answer: TestResponse, statuses: readonly number[]): void => {
  assert.ok(statuses.includes(answer.status), `${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
  assert.ok(isProblem(answer.body), `${what}: ${JSON.stringify(isProblem.errors)}`);
  assert.equal(answer.body.correlation_id, answer.headers['x-correlation-id'], what);
};

/** Responses that a caller must not be able to distinguish. */
export const seen = ({ status, body }: TestResponse) => ({
  status,
  code: body.code,
  detail: body.detail,
  title: body.title,
});
