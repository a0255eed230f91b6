/** Sends requests to the simulator as a browser would, from the contract alone, without the SDK. */
import assert from 'node:assert/strict';
import { api as contract, type Operation, type OperationId, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { createMockApi, type MockApi, type MockOptions } from '../index.ts';

type Req<K extends OperationId> = RequestOf<PublicApi[K]>;
export type ScenarioRequest<K extends OperationId = OperationId> = Readonly<{
  params?: Req<K>['params'];
  query?: Partial<Req<K>['query']>;
  body?: Req<K>['body'];
  if_match?: number;
}>;
export type Scenario<K extends OperationId> = (test: TestApi) => ScenarioRequest<K> | Promise<ScenarioRequest<K>>;
export type Scenarios<K extends OperationId = OperationId> = { readonly [P in K]: Scenario<P> };

export type TestApi = MockApi & Readonly<{ advance(ms: number): void }>;

const START = Date.parse('2026-11-15T10:00:00.000Z');

/** Its clock stands still until it is moved. */
export const testApi = (options: Omit<MockOptions, 'now'> = {}): TestApi => {
  let now = START;
  const api = createMockApi({ checksResponses: true, ...options, now: () => now });
  return {
    ...api,
    advance: (ms) => {
      now += ms;
      api.tick();
    },
  };
};

let keys = 0;

export type Wire = Readonly<{ params?: object; query?: object; body?: object; if_match?: number; key?: string | null }>;

export const ask = async (api: MockApi, id: OperationId, wire: Wire = {}): Promise<Response> => {
  const operation: Operation = contract[id];
  const params = (wire.params ?? {}) as Record<string, string>;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const query = new URLSearchParams(
    Object.entries(wire.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  );
  keys += 1;
  const form = operation.bodyType !== undefined;
  const body = operation.body === undefined ? null : (wire.body ?? {});
  return api.fetch(`https://mock.invalid${path}${query.size > 0 ? `?${query}` : ''}`, {
    method: operation.method,
    headers: {
      'content-type': operation.bodyType ?? 'application/json',
      ...(operation.idempotency === 'required' && wire.key !== null
        ? { 'idempotency-key': wire.key ?? `test-key-${keys}` }
        : {}),
      ...(wire.if_match === undefined ? {} : { 'if-match': `"v${wire.if_match}"` }),
    },
    ...(body === null
      ? {}
      : { body: form ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body) }),
  });
};

/** The response of a request that must succeed. */
export const must = async <T>(api: MockApi, id: OperationId, wire: Wire = {}): Promise<T> => {
  const response = await ask(api, id, wire);
  const text = await response.text();
  assert.equal(response.status, contract[id].status, `${id}: ${text.slice(0, 400)}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
};

export const present = <T>(value: T | undefined | null, what: string): T => {
  assert.ok(value !== undefined && value !== null, `the demo has ${what}`);
  return value;
};
