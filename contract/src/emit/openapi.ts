/** The public API as an OpenAPI 3.1 document. */
import type { TObject, TSchema } from 'typebox';
import pkg from '../../package.json' with { type: 'json' };
import { Problem } from '../common.ts';
import type { Api, Operation } from '../define.ts';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { errorsOf } from './errors-of.ts';
import { exampleOf } from './example.ts';
import { HEADERS, INFO, PARAMETERS, RETRY_AFTER_STATUSES, SECURITY_SCHEMES, tagsOf } from './prose.ts';
import { createRegistry, type Json, type JsonObject, pascal, type Registry } from './schemas.ts';

/** Each property of `params` or `query` becomes a parameter; its description moves out of the schema. */
const parameters = (place: 'path' | 'query', schema: TObject | undefined, registry: Registry): JsonObject[] =>
  Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = registry.use(property);
    return {
      name,
      in: place,
      required: place === 'path' || ((schema?.required ?? []) as readonly string[]).includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });

const headerParameters = (operation: Operation): JsonObject[] =>
  [
    ...(operation.idempotency === 'required' ? ['IdempotencyKey'] : []),
    ...(operation.ifMatch ? ['IfMatch'] : []),
    ...(operation.stream === 'text/event-stream' ? ['LastEventId'] : []),
    'CorrelationId',
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));

/** The resource has a version: its responses carry the ETag that If-Match requires. */
const hasVersion = (schema: TSchema | null): boolean =>
  'version' in ((schema as { properties?: object } | null)?.properties ?? {});

const headers = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const success = (id: string, operation: Operation, registry: Registry): JsonObject => {
  const { response, status, stream } = operation;
  const result: JsonObject = {
    description: status === 202 ? 'Accepted. Location is the resource, whose state shows the progress.' : 'Done.',
    headers: headers([
      'X-Correlation-Id',
      ...(hasVersion(response) && !stream ? ['ETag'] : []),
      ...(operation.location ? ['Location'] : []),
    ]),
  };
  if (response === null) return result;
  // OpenAPI 3.1 cannot type the items of a stream, so the item is in an extension; as a named component it would be
  // unused.
  const schema = registry.use(response, stream ? undefined : `${pascal(id)}Response`);
  const media: JsonObject = stream ? { schema: { type: 'string' }, 'x-item-schema': schema } : { schema };
  return { ...result, content: { [stream ?? 'application/json']: media } };
};

const problemExample = (code: ErrorCode): JsonObject => {
  const { status, title, help, retryable } = ERRORS[code];
  return {
    summary: title,
    value: {
      type: `/docs/errors/${code}`,
      title,
      status,
      detail: help,
      instance: '/api/v1/…',
      code,
      correlation_id: 'c-01k9zv3m8q4t6w2x5y7r0s1n3p',
      retryable,
      retry_after_s: RETRY_AFTER_STATUSES.includes(status) ? 1 : null,
      errors: [],
      reasons: [],
      alternatives: [],
      actions: [],
    },
  };
};

/** One response per status; the set of codes names it, so operations that fail alike share the component. */
const problemResponse = (status: number, codes: readonly ErrorCode[], registry: Registry): JsonObject => ({
  description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}. ${ERRORS[code].help}`).join('\n\n'),
  headers: headers(['X-Correlation-Id', ...(RETRY_AFTER_STATUSES.includes(status) ? ['Retry-After'] : [])]),
  content: {
    'application/problem+json': {
      schema: registry.use(Problem),
      examples: Object.fromEntries(codes.map((code) => [code, problemExample(code)])),
    },
  },
});

export const openapi = (api: Api): JsonObject => {
  const registry = createRegistry();
  const problems = new Map<string, JsonObject>();

  const responses = (id: string, operation: Operation): JsonObject => {
    const result: JsonObject = { [operation.status]: success(id, operation, registry) };
    for (const [status, codes] of Map.groupBy(errorsOf(operation), (code) => ERRORS[code].status)) {
      const name = codes.map(pascal).join('Or');
      problems.set(name, problemResponse(status, codes, registry));
      result[status] = { $ref: `#/components/responses/${name}` };
    }
    return result;
  };

  const requestBody = (id: string, body: TSchema, type: string): JsonObject => ({
    required: true,
    content: { [type]: { schema: registry.use(body, `${pascal(id)}Request`), example: exampleOf(body) } },
  });

  const describe = (id: string, operation: Operation): JsonObject => ({
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    'x-access': operation.access,
    'x-permission': operation.permission,
    'x-audit': operation.audit,
    'x-idempotency': operation.idempotency,
    ...(operation.secret ? { 'x-secret': true } : {}),
    ...(operation.freshSignIn ? { 'x-fresh-sign-in': true } : {}),
    security: operation.access === 'public' ? [] : [{ bearer: [] }, { oidc: [] }],
    parameters: [
      ...parameters('path', operation.params, registry),
      ...parameters('query', operation.query, registry),
      ...headerParameters(operation),
    ] as Json,
    ...(operation.body
      ? { requestBody: requestBody(id, operation.body, operation.bodyType ?? 'application/json') }
      : {}),
    responses: responses(id, operation),
  });

  const paths: Record<string, JsonObject> = {};
  for (const [id, operation] of Object.entries(api)) {
    const item = paths[operation.path] ?? {};
    paths[operation.path] = item;
    const method = operation.method.toLowerCase();
    if (method in item) throw new Error(`${operation.method} ${operation.path} is declared twice.`);
    item[method] = describe(id, operation);
  }

  return {
    openapi: '3.1.0',
    info: { ...INFO, version: pkg.version },
    servers: [{ url: 'http://localhost:8080', description: 'The laptop default of `make up`.' }],
    tags: tagsOf(Object.values(api).map((operation) => operation.tag)),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: Object.fromEntries([...problems].sort(([a], [b]) => (a < b ? -1 : 1))),
      schemas: registry.components(),
    },
  };
};
