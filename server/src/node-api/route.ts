/** Maps a request to its operation by method and path pattern. */
import { type NodeOperation, type NodeOperationId, nodeApi } from '@gpuaas/contract/node';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import { compileOperation, type Validators } from '../http/validate.ts';

export type Route = Readonly<{
  id: NodeOperationId;
  operation: NodeOperation;
  pattern: RegExp;
  validators: Validators;
}>;

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

const ROUTES: readonly Route[] = Object.entries(nodeApi as Readonly<Record<string, NodeOperation>>).map(
  ([id, operation]) => ({
    id: id as NodeOperationId,
    operation,
    pattern: patternOf(operation.path),
    validators: compileOperation(operation),
  }),
);

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AppError('invalid_request', REFUSALS.bad_path);
  }
};

export const findRoute = (method: string, path: string): Readonly<{ route: Route; params: Record<string, string> }> => {
  let isKnown = false;
  for (const route of ROUTES) {
    const match = route.pattern.exec(path);
    if (match === null) continue;
    isKnown = true;
    if (route.operation.method !== method) continue;
    const params = Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, text]) => [name, decode(text)]));
    return { route, params };
  }
  throw isKnown
    ? new AppError('method_not_allowed', 'This path takes another method.')
    : new AppError('not_found', REFUSALS.no_resource);
};
