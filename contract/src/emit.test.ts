import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import asyncapiSchemas from '@asyncapi/specs';
import { Ajv, type AnySchema } from 'ajv';
import { Check, Errors } from 'typebox/value';
import { Closed } from './common.ts';
import type { Operation } from './define.ts';
import { asyncapi, errorsOf, exampleOf, type JsonObject, nodeOpenapi, openapi } from './emit.ts';
import { ERRORS } from './errors.ts';
import { events } from './events/index.ts';
import { nodeApi } from './node/api.ts';
import { api } from './public/index.ts';

const document = openapi(api);
const operations = Object.entries<Operation>(api);
const text = JSON.stringify(document);

const at = (path: string): JsonObject => {
  const found = path
    .slice(2)
    .split('/')
    .reduce<unknown>((node, key) => (node as JsonObject)[key.replaceAll('~1', '/')], document);
  assert.ok(found, `${path} does not exist`);
  return found as JsonObject;
};

describe('openapi', () => {
  it('an operation is named `admin…` exactly when its path is below /api/v1/admin', () => {
    for (const [id, { path }] of operations)
      assert.equal(/^admin[A-Z]/.test(id), path.startsWith('/api/v1/admin/'), id);
  });

  it('holds every operation under its id, with permission, audit action and idempotency rule', () => {
    for (const [id, operation] of operations) {
      const emitted = at(`#/paths/${operation.path.replaceAll('/', '~1')}/${operation.method.toLowerCase()}`);
      assert.equal(emitted['operationId'], id);
      assert.equal(emitted['x-permission'], operation.permission);
      assert.equal(emitted['x-audit'], operation.audit);
      assert.equal(emitted['x-idempotency'], operation.idempotency);
      assert.equal(emitted['x-access'], operation.access);
      assert.equal((emitted['security'] as unknown[]).length > 0, operation.access !== 'public');
    }
  });

  it('declares every path parameter that the path names, and no other', () => {
    for (const [id, operation] of operations) {
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      assert.deepEqual(Object.keys(operation.params?.properties ?? {}), inPath, id);
    }
  });

  it('refers only to components that exist', () => {
    const refs = new Set([...text.matchAll(/"\$ref":"(#[^"]+)"/g)].map((match) => match[1] ?? ''));
    assert.ok(refs.size > 50);
    for (const ref of refs) at(ref);
  });

  it('names resources, pages and request bodies', () => {
    const schemas = at('#/components/schemas');
    for (const name of ['Problem', 'Project', 'ProjectPage', 'ProjectCreateRequest', 'Money', 'WorkflowRun'])
      assert.ok(name in schemas, name);
  });

  it('spells a nullable value as a type pair and keeps null in its enum', () => {
    const user = at('#/components/schemas/User/properties');
    assert.deepEqual(user['email'], { type: ['string', 'null'] });
    assert.deepEqual(user['platform_role'], { type: ['string', 'null'], enum: ['superadmin', 'ops', null] });
  });

  it('is the same on every run', () => {
    assert.equal(JSON.stringify(openapi(api)), text);
  });

  it('refuses two operations on one method and path', () => {
    assert.throws(() => openapi({ a: api.meGet, b: api.meGet }), /declared twice/);
  });

  it('refuses two different schemas of one name', () => {
    const body = Closed({});
    const other = { ...api.organizationCreate, path: '/x', body: Closed({ ...body.properties, x: body }) } as const;
    assert.doesNotThrow(() => openapi({ organizationCreate: other }));
    assert.throws(
      () => openapi({ organizationCreate: api.organizationCreate, OrganizationCreate: other }),
      /both named OrganizationCreateRequest/,
    );
  });
});

describe('errorsOf', () => {
  it('lists all idempotency errors for a write with a key and all precondition errors for a conditional write', () => {
    const create = errorsOf(api.projectCreate);
    for (const code of ['idempotency_key_missing', 'idempotency_in_flight', 'idempotency_key_reused'] as const)
      assert.ok(create.includes(code));
    assert.ok(create.includes('already_exists'));
    const update = errorsOf(api.projectUpdate);
    assert.ok(update.includes('precondition_failed') && update.includes('precondition_required'));
    assert.ok(!update.includes('idempotency_key_missing'));
  });

  it('lists no permission error for a public operation and orders codes by status', () => {
    assert.ok(!errorsOf(api.serviceAccountTokenIssue).includes('permission_denied'));
    const statuses = errorsOf(api.projectCreate).map((code) => ERRORS[code].status);
    assert.deepEqual(
      statuses,
      statuses.toSorted((a, b) => a - b),
    );
  });
});

describe('exampleOf', () => {
  it('returns a valid value for every part of every operation, with and without optional fields', () => {
    const bad: string[] = [];
    for (const [id, operation] of operations)
      for (const part of ['params', 'query', 'body', 'response'] as const) {
        const schema = operation[part];
        if (!schema) continue;
        for (const optional of [true, false]) {
          const example = exampleOf(schema, { optional });
          if (!Check(schema, example)) {
            const [first] = Errors(schema, example);
            bad.push(`${id} ${part}: ${first?.instancePath} ${first?.message}`);
          }
        }
      }
    assert.deepEqual(bad, []);
  });

  it('omits optional fields on request, but keeps enough for minProperties', () => {
    assert.deepEqual(exampleOf(api.organizationCreate.body, { optional: false }), { name: 'research' });
    assert.deepEqual(exampleOf(api.adminUserUpdate.body, { optional: false }), { state: 'active' });
  });
});

/** Unresolved references of a document. */
const danglingRefs = (document: JsonObject): string[] =>
  [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)]
    .map(([, path = '']) => path)
    .filter((path) => {
      const keys = path.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
      return keys.reduce<unknown>((node, key) => (node as JsonObject | undefined)?.[key], document) === undefined;
    });

describe('asyncapi', () => {
  it('is a valid AsyncAPI 3.0 document with one channel per event type', () => {
    const emitted = asyncapi(events);
    const isValid = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(
      asyncapiSchemas.schemasWithoutId['3.0.0'] as AnySchema,
    );
    assert.ok(isValid(emitted), JSON.stringify(isValid.errors));
    assert.deepEqual(danglingRefs(emitted), []);
    const channels = Object.values(emitted['channels'] as Record<string, JsonObject>);
    const addresses = channels.map((channel) => channel['address']);
    assert.deepEqual(
      addresses,
      Object.keys(events).map((type) => `gpuaas.${type}`),
    );
  });

  it('shows an example payload whose data satisfies the schema of its event', () => {
    for (const [type, event] of Object.entries(events)) assert.ok(Check(event.data, exampleOf(event.data)), type);
  });
});

describe('node openapi', () => {
  it('lists every agent operation by id with its authentication; every reference resolves', () => {
    const emitted = nodeOpenapi(nodeApi);
    for (const [id, operation] of Object.entries(nodeApi)) {
      const item = (emitted['paths'] as JsonObject)[operation.path] as JsonObject;
      const found = item[operation.method.toLowerCase()] as JsonObject;
      assert.equal(found['operationId'], id);
      assert.equal((found['security'] as unknown[]).length > 0, operation.auth === 'certificate', id);
    }
    for (const [, path = ''] of JSON.stringify(emitted).matchAll(/"\$ref":"#\/([^"]+)"/g))
      assert.ok(
        path.split('/').reduce<unknown>((node, key) => (node as JsonObject | undefined)?.[key], emitted),
        path,
      );
  });
});
