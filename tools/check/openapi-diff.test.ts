import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { api } from '@gpuaas/contract';
import { openapi } from '@gpuaas/contract/emit';
import { breakingChanges } from './openapi-diff.ts';

type Doc = Record<string, unknown>;

const operation = (over: Doc = {}): Doc => ({
  operationId: 'thingCreate',
  parameters: [{ name: 'limit', in: 'query', required: false, schema: { type: 'integer', maximum: 200 } }],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Request' } } },
  },
  responses: {
    201: {
      headers: { Location: {} },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
    },
    409: { content: {} },
  },
  ...over,
});

const request = (over: Doc = {}, properties: Doc = {}): Doc => ({
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 63 },
    mode: { type: 'string', enum: ['slice', 'whole'] },
    ...properties,
  },
  ...over,
});

const thing = (over: Doc = {}, properties: Doc = {}): Doc => ({
  type: 'object',
  required: ['id', 'state'],
  properties: {
    id: { type: 'string' },
    state: { type: 'string', enum: ['on', 'off'] },
    parts: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
    ...properties,
  },
  ...over,
});

const document = (parts: { operation?: Doc; request?: Doc; thing?: Doc; path?: string } = {}): Doc => ({
  paths: { [parts.path ?? '/things/{id}']: { post: parts.operation ?? operation() } },
  components: { schemas: { Request: parts.request ?? request(), Thing: parts.thing ?? thing() } },
});

const without = (from: Doc, key: string): Doc => {
  const { [key]: _, ...rest } = from['properties'] as Doc;
  return { ...from, properties: rest };
};

const breaks = (after: Doc, expected: RegExp): void => {
  const found = breakingChanges(document(), after);
  assert.equal(found.length, 1, `one finding, got: ${found.join('; ')}`);
  assert.match(found[0] ?? '', expected);
};
const holds = (after: Doc): void => assert.deepEqual(breakingChanges(document(), after), []);

describe('a breaking change of the contract is found', () => {
  it('when an operation is removed', () => breaks({ paths: {} }, /thingCreate \(POST .*\) was removed/));
  it('when an operation is renamed', () =>
    breaks(document({ operation: operation({ operationId: 'thingMake' }) }), /operationId became thingMake/));
  it('when a parameter is removed', () =>
    breaks(document({ operation: operation({ parameters: [] }) }), /query parameter limit was removed/));
  it('when a parameter is narrowed', () =>
    breaks(
      document({
        operation: operation({
          parameters: [{ name: 'limit', in: 'query', required: false, schema: { type: 'integer', maximum: 100 } }],
        }),
      }),
      /limit: it: maximum became 100/,
    ));
  it('when a new parameter is required', () => {
    const { parameters } = operation() as { parameters: Doc[] };
    const key = { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } };
    breaks(
      document({ operation: operation({ parameters: [...parameters, key] }) }),
      /Idempotency-Key is new and required/,
    );
  });
  it('when an open operation needs a credential', () => {
    const open = document({ operation: operation({ security: [] }) });
    const closed = document({ operation: operation({ security: [{ bearer: [] }] }) });
    assert.match(breakingChanges(open, closed).join(), /needs a credential now/);
    assert.deepEqual(breakingChanges(closed, open), []);
  });
  it('when a request field becomes required', () =>
    breaks(document({ request: request({ required: ['name', 'mode'] }) }), /field mode is required now/));
  it('when a request field is removed from a strict body', () =>
    breaks(document({ request: without(request(), 'mode') }), /field mode was removed/));
  it('when a request enum is narrowed', () =>
    breaks(
      document({ request: request({}, { mode: { type: 'string', enum: ['slice'] } }) }),
      /\/mode: no longer accepts "whole"/,
    ));
  it('when a request string gets a pattern', () =>
    breaks(
      document({ request: request({}, { name: { type: 'string', maxLength: 63, pattern: '^a' } }) }),
      /\/name: pattern became \^a/,
    ));
  it('when a request type changes', () =>
    breaks(
      document({ request: request({}, { name: { type: 'integer' } }) }),
      /\/name: type changed from string to integer/,
    ));
  it('when a response field is removed', () =>
    breaks(document({ thing: without(thing({ required: ['id'] }), 'state') }), /field state was removed/));
  it('when a response field may be missing', () =>
    breaks(document({ thing: thing({ required: ['id'] }) }), /field state may be missing now/));
  it('when a response field may be null', () =>
    breaks(
      document({ thing: thing({}, { id: { type: ['string', 'null'] } }) }),
      /\/id: type changed from string to string\|null/,
    ));
  it('when a success status changes', () => {
    const { responses } = operation() as { responses: Doc };
    breaks(document({ operation: operation({ responses: { 202: responses['201'] } }) }), /no longer answers 201/);
  });
  it('when a response header is removed', () => {
    const { responses } = operation() as { responses: Record<string, Doc> };
    breaks(
      document({ operation: operation({ responses: { ...responses, 201: { ...responses['201'], headers: {} } } }) }),
      /header Location was removed/,
    );
  });
});

describe('a compatible change is accepted', () => {
  it('no change, also of the real contract', () => {
    holds(document());
    const real = openapi(api);
    assert.deepEqual(breakingChanges(real, structuredClone(real)), []);
  });
  it('a renamed path parameter', () => holds(document({ path: '/things/{thing_id}' })));
  it('a new optional request field', () => holds(document({ request: request({}, { note: { type: 'string' } }) })));
  it('a wider request', () =>
    holds(document({ request: request({ required: [] }, { name: { type: ['string', 'null'], maxLength: 100 } }) })));
  it('a new response field, and a new value in its enum', () =>
    holds(
      document({
        thing: thing({}, { note: { type: 'string' }, state: { type: 'string', enum: ['on', 'off', 'stuck'] } }),
      }),
    ));
  it('another error', () => {
    const { responses } = operation() as { responses: Doc };
    holds(document({ operation: operation({ responses: { 201: responses['201'], 412: {} } }) }));
  });
});
