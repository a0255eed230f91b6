/** Text of the API reference shared by all operations: the guide, the tags, the headers, authentication. */
import type { JsonObject } from './schemas.ts';

export const INFO: JsonObject = {
  title: 'GPUaaS API',
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  description: `GPUaaS turns racks of GPU hosts into a multi-tenant GPU cloud. This is its whole public API: the
\`gpuaas\` command uses nothing else.

**Sign in.** Send \`Authorization: Bearer …\` with an access token of the OpenID Connect issuer, an API token, or a token
that a service account got at \`serviceAccountTokenIssue\`. \`x-permission\` names the permission of each operation.

**Fresh sign-in.** Operations with \`x-fresh-sign-in\` refuse an operator of the platform who did not sign in a short time
ago: 401 with the code \`fresh_sign_in_required\` and the challenge of RFC 9470, whose \`max_age\` is that time in
seconds. The \`auth_time\` claim of the token counts. An API token needs the scope \`fresh_sign_in\` for them.

**Errors** are one envelope, \`application/problem+json\`. Act on \`code\`; \`retryable\` states whether the same request
may succeed later. A resource that you may not read returns 404.

**Retries.** A POST takes an \`Idempotency-Key\`: the same key and body return the first response again for 48 hours,
the same key with another body gives 422. Wait for \`Retry-After\` on 429 and 503.

**Changes.** A resource with a \`version\` returns an \`ETag\`; send it in \`If-Match\` to change only what you read.

**Long operations** return 202 with the \`Location\` of the resource, whose \`state\` is the progress.

**Lists** are cursor pages: send \`next_cursor\` as \`cursor\` until it is null.

**Correlation.** Every response has \`X-Correlation-Id\`. It is also in logs, events, audit rows and invoices: give it to
support. Send your own to join several requests.

Any request may also be refused before it reaches an operation: 405 for another method, 408 for a body that does not
come, 431 for headers that are too large. Bodies are strict: unknown and duplicate fields are refused.`,
};

const TAGS: Readonly<Record<string, string>> = {
  Identity: 'The caller and its roles.',
  Organizations: 'Tenants, their members and invitations.',
  Projects: 'Projects of an organization; allocations belong to a project.',
  'Service accounts': 'Accounts for programs in one project, and their credentials.',
  'API tokens': 'Scoped, expiring tokens of people.',
  'SSH keys': 'Public keys installed on the VMs a user launches.',
  Allocations: 'Bare-metal nodes and GPU slices, from request to verified wipe.',
  Sessions: 'Connections to an allocation: terminal, serial console, SSH and forwarded ports.',
  Access: 'SSH keys granted on an allocation, and the access policy of an organization.',
  Placement: 'Nodes, slots, claims, capacity and quotas, for operators.',
  Nodes:
    'Hosts and their agents: enrollment, discovery, approval of slots, disks, health, trust and logs. For operators.',
  Catalog: 'Regions, SKUs with prices, operating system images.',
  Site: 'The site as a whole: setup, checks, backups, sign-up, first limits, requests of tenants and groups. For operators.',
  Audit: 'Audit rows, sealed into hash chains.',
  Events: 'Events, as pages and as a stream.',
  Trace: 'All records of one ID, across hosts, in one timeline.',
  Workflows: 'Workflow runs and their timelines.',
  Administration: 'For operators of the platform.',
};

/** Tags in the order of first use. A tag without a description is an error in the contract. */
export const tagsOf = (used: readonly string[]): JsonObject[] =>
  [...new Set(used)].map((name) => {
    const description = TAGS[name];
    if (description === undefined) throw new Error(`Tag "${name}" has no description.`);
    return { name, description };
  });

export const SECURITY_SCHEMES: JsonObject = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API token, or an access token of a service account.' },
  oidc: {
    type: 'openIdConnect',
    openIdConnectUrl: 'http://localhost:8080/oidc/.well-known/openid-configuration',
    description:
      'An access token of the issuer that `/.well-known/gpuaas` names. The URL here is the default of `make up`.',
  },
};

const string = (rest: JsonObject): JsonObject => ({ type: 'string', ...rest });

export const PARAMETERS: JsonObject = {
  CorrelationId: {
    name: 'X-Correlation-Id',
    in: 'header',
    required: false,
    description: 'Your correlation ID for this request and its effects. Replaced by a new one if it is malformed.',
    schema: string({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$' }),
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: 'A value of your choice. Use a new one for each request, and the same one for a retry.',
    schema: string({ pattern: '^[\\x21-\\x7e]{8,128}$', examples: ['launch-2026-11-15-a'] }),
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description: 'The ETag of the version you read.',
    schema: string({ examples: ['"v3"'] }),
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'ID of the last event received. The stream continues after it.',
    schema: string({ examples: ['evt_01k9zv3m8q4t6w2x5y7r0s1n3p'] }),
  },
};

export const HEADERS: JsonObject = {
  'X-Correlation-Id': { description: 'Correlation ID of this request.', required: true, schema: string({}) },
  ETag: { description: 'The version of the resource.', required: true, schema: string({ examples: ['"v3"'] }) },
  Location: { description: 'Path of the resource.', schema: string({}) },
  'Retry-After': { description: 'Seconds to wait.', required: true, schema: { type: 'integer', minimum: 0 } },
};

/** Statuses that always have a retry time. */
export const RETRY_AFTER_STATUSES: readonly number[] = [429, 503];
