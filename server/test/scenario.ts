/** What a scenario is: one request of an operation, typed by the contract. */
import type { OperationId, PublicApi, RequestOf } from '@gpuaas/contract';
import type { Caller } from './app.ts';
import type { Tenants } from './tenants.ts';

type Req<K extends OperationId> = RequestOf<PublicApi[K]>;
export type ScenarioRequest<K extends OperationId = OperationId> = Readonly<{
  as: Caller | null;
  params?: Req<K>['params'];
  query?: Partial<Req<K>['query']>;
  body?: Req<K>['body'];
  if_match?: number;
}>;
export type Scenarios = { readonly [K in OperationId]: (tenants: Tenants) => Promise<ScenarioRequest<K>> };
