/** The node API as an OpenAPI 3.1 document: the requests and responses between agents and the control plane. */
import type { TObject } from 'typebox';
import pkg from '../../package.json' with { type: 'json' };
import { Problem } from '../common.ts';
import type { NodeOperation } from '../node/api.ts';
import { HEADERS } from './prose.ts';
import { createRegistry, type Json, type JsonObject, pascal, type Registry } from './schemas.ts';

const INFO: JsonObject = {
  title: 'GPUaaS node API',
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  description: `Requests of \`gpuaas-node-agent\` to the control plane, on a listener of their own. Hosts connect outwards only.

**TLS.** Version 1.3. The listener's certificate and those of nodes come from the platform's CA. A host is installed with
the SHA-256 fingerprint of that CA, takes the certificate with this fingerprint out of the trust bundle, and verifies
every connection from then on.

**Who asks** is the node that the client certificate names (\`spiffe://gpuaas/node/<node_id>\`). It must be the one in the
path; anything else is 403 and audited. Revocation is looked up at every request.

**Errors** are the envelope of the public API, \`application/problem+json\`.`,
};

const parameters = (schema: TObject | undefined, registry: Registry): JsonObject[] =>
  Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = registry.use(property);
    return { name, in: 'path', required: true, ...(description === undefined ? {} : { description }), schema: rest };
  });

const SECURITY: Readonly<Record<NodeOperation['auth'], Json>> = {
  none: [],
  token: [],
  certificate: [{ certificate: [] }],
};

const REFUSALS: Readonly<Record<string, string>> = {
  '400': 'The request does not match the contract.',
  '401': 'The token is unknown.',
  '403': 'The certificate is invalid or belongs to another node, or the token was used or has expired.',
  '404': 'The resource does not exist for this node.',
  '413': 'The body is larger than the operation allows.',
  '429': 'Too many requests without a certificate from this address.',
  '503': 'Temporarily unavailable. Nothing was written; retry.',
};

const refusalsOf = ({ auth, body, params }: NodeOperation): string[] =>
  Object.keys(REFUSALS).filter(
    (status) =>
      (status !== '401' || auth === 'token') &&
      (status !== '403' || auth !== 'none') &&
      (status !== '404' || params !== undefined) &&
      (status !== '413' || body !== undefined) &&
      (status !== '429' || auth !== 'certificate'),
  );

export const nodeOpenapi = (api: Readonly<Record<string, NodeOperation>>): JsonObject => {
  const registry = createRegistry();
  const problem: JsonObject = { 'application/problem+json': { schema: registry.use(Problem) } };

  const success = (id: string, { response }: NodeOperation): JsonObject => ({
    description: 'Done.',
    headers: { 'X-Correlation-Id': { $ref: '#/components/headers/X-Correlation-Id' } },
    content:
      response === null
        ? { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
        : { 'application/json': { schema: registry.use(response, `${pascal(id)}Response`) } },
  });

  const describe = (id: string, operation: NodeOperation): JsonObject => ({
    operationId: id,
    tags: ['Node'],
    summary: operation.summary,
    'x-auth': operation.auth,
    ...(operation.bodyMax === undefined ? {} : { 'x-body-bytes-max': operation.bodyMax }),
    security: SECURITY[operation.auth],
    parameters: parameters(operation.params, registry),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: registry.use(operation.body, `${pascal(id)}Request`) } },
          },
        }),
    responses: {
      '200': success(id, operation),
      ...Object.fromEntries(
        refusalsOf(operation).map((status) => [status, { $ref: `#/components/responses/Refused${status}` }]),
      ),
    },
  });

  const paths: Record<string, JsonObject> = {};
  for (const [id, operation] of Object.entries(api))
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(id, operation) };

  return {
    openapi: '3.1.0',
    info: { ...INFO, version: pkg.version },
    servers: [{ url: 'https://localhost:8443', description: 'The laptop default of `make up`.' }],
    tags: [{ name: 'Node', description: 'Enrollment, tasks, health and logs of one node.' }],
    paths,
    components: {
      securitySchemes: {
        certificate: { type: 'mutualTLS', description: 'The certificate issued to the node at enrollment.' },
      },
      headers: { 'X-Correlation-Id': HEADERS['X-Correlation-Id'] as Json },
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, description]) => [
          `Refused${status}`,
          { description, content: problem },
        ]),
      ),
      schemas: registry.components(),
    },
  };
};
