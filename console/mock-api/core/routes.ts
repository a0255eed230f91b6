/** The operation of a request: the contract's paths as patterns. */
import { api, type Operation, type OperationId } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { Refusal } from './errors.ts';

export type Route = Readonly<{ id: OperationId; operation: Operation; pattern: RegExp; names: readonly string[] }>;
export type Match = Readonly<{ id: OperationId; operation: Operation; params: Readonly<Record<string, string>> }>;

const escaped = (text: string): string => text.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');

const routeOf = ([id, operation]: [string, Operation]): Route => {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const pattern = operation.path
    .split(/\{\w+\}/)
    .map(escaped)
    .join('([^/]+)');
  return { id: id as OperationId, operation, pattern: new RegExp(`^${pattern}$`), names };
};

/** Paths without parameters first, so that `/audit-logs/verify` is not taken for an ID. */
const ROUTES: readonly Route[] = Object.entries<Operation>(api)
  .map(routeOf)
  .toSorted((a, b) => a.names.length - b.names.length);

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal('invalid_request', REFUSALS.bad_path);
  }
};

export const matchRoute = (method: string, path: string): Match => {
  const found = ROUTES.flatMap((route) => {
    const parts = route.pattern.exec(path);
    return parts === null ? [] : [{ route, parts }];
  });
  const hit = found.find(({ route }) => route.operation.method === method);
  if (hit === undefined)
    throw found.length === 0
      ? new Refusal('not_found', REFUSALS.no_resource)
      : new Refusal('method_not_allowed', REFUSALS.methods_of_path(found.map(({ route }) => route.operation.method)));
  const params = Object.fromEntries(hit.route.names.map((name, index) => [name, decoded(hit.parts[index + 1] ?? '')]));
  return { id: hit.route.id, operation: hit.route.operation, params };
};
