import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { createClient, GpuaasError, type Problem, wait } from './index.ts';

type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string };
type Answerer = (req: Seen, res: ServerResponse, count: number) => void;

const closers: (() => void)[] = [];
after(() => {
  for (const close of closers) close();
});

/** A server that responds from a function and records its requests. */
const serve = async (answer: Answerer) => {
  const seen: Seen[] = [];
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    const request = { method: req.method ?? '', url: req.url ?? '', headers: req.headers, body };
    seen.push(request);
    answer(request, res, seen.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, seen };
};

const json = (res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

const problem = (status: number, code: Problem['code'], more: Partial<Problem> = {}): Problem => ({
  type: '/docs/errors',
  title: code,
  status,
  detail: `Refused: ${code}.`,
  instance: '/',
  code,
  correlation_id: 'corr-1',
  retryable: false,
  retry_after_s: null,
  errors: [],
  reasons: [],
  alternatives: [],
  actions: [],
  ...more,
});

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

const retry = { baseMs: 1, waitMaxMs: 50 };
const organization_id = 'org_1';
const project = { params: { organization_id }, body: { name: 'research' } };

test('a call fills the path, sends credential and correlation ID, and returns body, ETag and location', async () => {
  const { baseUrl, seen } = await serve((_, res) =>
    json(res, 201, { id: 'prj_1' }, { etag: '"1"', location: '/x', 'x-correlation-id': 'c-1' }),
  );
  const client = createClient({ baseUrl: `${baseUrl}/`, token: 't', correlationId: 'c-1', userAgent: 'me/1' });
  const answer = await client.call('projectCreate', project);
  assert.deepEqual(answer, {
    data: { id: 'prj_1' },
    status: 201,
    etag: '"1"',
    location: '/x',
    correlation_id: 'c-1',
    idempotency_key: seen[0]?.headers['idempotency-key'],
  });
  assert.equal(seen[0]?.url, '/api/v1/organizations/org_1/projects');
  assert.equal(seen[0]?.headers.authorization, 'Bearer t');
  assert.equal(seen[0]?.headers['x-correlation-id'], 'c-1');
  assert.equal(seen[0]?.headers['user-agent'], 'me/1');
  assert.equal(seen[0]?.body, '{"name":"research"}');
});

test('a POST with an Idempotency-Key is retried with the same key after 503 and a broken connection', async () => {
  const { baseUrl, seen } = await serve((_, res, count) => {
    if (count === 1) json(res, 503, problem(503, 'unavailable'), { 'retry-after': '0' });
    else if (count === 2) res.destroy();
    else json(res, 201, { id: 'prj_1' });
  });
  const made = await createClient({ baseUrl, token: 't', retry }).projectCreate(project);
  assert.equal(made.id, 'prj_1');
  const keys = seen.map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys.length, 3);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
  assert.equal(new Set(keys).size, 1);
});

test('a change without an Idempotency-Key is never sent twice', async () => {
  const { baseUrl, seen } = await serve((_, res) => json(res, 503, problem(503, 'unavailable')));
  const client = createClient({ baseUrl, token: 't', retry });
  const params = { project_id: 'prj_1' };
  await assert.rejects(client.projectUpdate({ params, body: { display_name: 'x' } }, { ifMatch: 3 }), {
    code: 'unavailable',
  });
  await assert.rejects(client.projectDelete({ params }), { code: 'unavailable' });
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['PATCH', 'DELETE'],
  );
  assert.equal(seen[0]?.headers['if-match'], '"v3"');
});

test('retries are bounded, and a Retry-After above the bound is returned to the caller', async () => {
  const bounded = await serve((_, res) => json(res, 429, problem(429, 'rate_limited')));
  await assert.rejects(createClient({ ...bounded, token: 't', retry: { ...retry, retriesMax: 2 } }).meGet(), {
    code: 'rate_limited',
  });
  assert.equal(bounded.seen.length, 3);
  const patient = await serve((_, res) => json(res, 429, problem(429, 'rate_limited'), { 'retry-after': '60' }));
  await assert.rejects(createClient({ ...patient, token: 't', retry }).meGet(), { retry_after_s: 60 });
  assert.equal(patient.seen.length, 1);
});

test('an error keeps every field of the problem document', async () => {
  const errors = [{ pointer: '/body/name', code: 'pattern', message: 'must be lower case' }];
  const { baseUrl } = await serve((_, res) => json(res, 400, problem(400, 'invalid_request', { errors })));
  const err = await createClient({ baseUrl, token: 't' })
    .projectCreate(project)
    .catch((thrown: unknown) => thrown);
  assert.ok(err instanceof GpuaasError);
  assert.deepEqual(
    [err.code, err.status, err.detail, err.correlation_id, err.errors],
    ['invalid_request', 400, 'Refused: invalid_request.', 'corr-1', errors],
  );
  assert.match(String(err.help), /errors\[\]/);
});

test('a network failure and a foreign response are errors with a code', async () => {
  const closed = createClient({ baseUrl: 'http://127.0.0.1:1', token: 't', retry: { retriesMax: 0 } });
  await assert.rejects(closed.meGet(), { code: 'network', status: 0, retryable: true });
  const { baseUrl } = await serve((_, res) => res.writeHead(200).end('<html>'));
  await assert.rejects(createClient({ baseUrl, token: 't' }).meGet(), { code: 'unexpected_response' });
  const proxy = await serve((_, res) => res.writeHead(404).end('<html>'));
  await assert.rejects(createClient({ ...proxy, token: 't' }).meGet(), { code: 'unexpected_response', status: 404 });
});

test('a call to a server that never responds fails after the time limit', async () => {
  const { baseUrl } = await serve(() => undefined);
  await assert.rejects(createClient({ baseUrl, token: 't', timeoutMs: 30, retry: { retriesMax: 0 } }).meGet(), {
    code: 'network',
    message: /within 0.03 s/,
  });
});

test('a refused token is renewed once by the provider, and a second refusal is final', async () => {
  const { baseUrl, seen } = await serve((req, res) =>
    req.headers.authorization === 'Bearer new' ? json(res, 200, {}) : json(res, 401, problem(401, 'unauthenticated')),
  );
  const asked: (string | undefined)[] = [];
  const client = createClient({
    baseUrl,
    tokenProvider: ({ rejected }) => {
      asked.push(rejected);
      return rejected === undefined ? 'old' : 'new';
    },
  });
  await client.meGet();
  assert.deepEqual(asked, [undefined, 'old']);
  await assert.rejects(createClient({ baseUrl, token: 'old' }).meGet(), { code: 'unauthenticated' });
  assert.equal(seen.length, 3);
});

test('the client credentials exchange is a form without a bearer token', async () => {
  const { baseUrl, seen } = await serve((_, res) => json(res, 200, { access_token: 'a' }));
  await createClient({ baseUrl, token: 'secret' }).serviceAccountTokenIssue({
    body: { grant_type: 'client_credentials', client_id: 'sva_1', client_secret: 's&=' },
  });
  assert.equal(seen[0]?.headers.authorization, undefined);
  assert.equal(seen[0]?.headers['content-type'], 'application/x-www-form-urlencoded');
  assert.equal(seen[0]?.body, 'grant_type=client_credentials&client_id=sva_1&client_secret=s%26%3D');
});

test('pages are followed to the last one', async () => {
  const { baseUrl, seen } = await serve((req, res) =>
    req.url.includes('cursor=b')
      ? json(res, 200, { items: [{ name: 'c' }], next_cursor: null })
      : json(res, 200, { items: [{ name: 'a' }, { name: 'b' }], next_cursor: 'b' }),
  );
  const names: string[] = [];
  for await (const sku of createClient({ baseUrl, token: 't' }).pages.skuList({ query: { limit: 2 } }))
    names.push(sku.name);
  assert.deepEqual(names, ['a', 'b', 'c']);
  assert.deepEqual(
    seen.map(({ url }) => url),
    ['/api/v1/skus?limit=2', '/api/v1/skus?limit=2&cursor=b'],
  );
});

test('an event stream reconnects after the last event it returned', async () => {
  const { baseUrl, seen } = await serve((_, res, count) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = `: hello\nretry: 1\n\nid: evt_${count}\nevent: x\ndata: {"id":\ndata: "evt_${count}"}\n\n`;
    res.write(text, () => {
      if (count === 1) res.destroy();
      else if (count === 2) res.end();
    });
  });
  const client = createClient({ baseUrl, token: 't', retry });
  const got: string[] = [];
  let reconnects = 0;
  let opened = 0;
  const stream = client.eventStream(
    { params: { project_id: 'prj_1' } },
    { lastEventId: 'evt_0', onOpen: () => opened++, onReconnect: () => reconnects++ },
  );
  for await (const event of stream) {
    got.push(event.id);
    if (got.length === 3) break;
  }
  assert.deepEqual(got, ['evt_1', 'evt_2', 'evt_3']);
  assert.deepEqual(
    seen.map(({ headers }) => headers['last-event-id']),
    ['evt_0', 'evt_1', 'evt_2'],
  );
  assert.deepEqual([opened, reconnects], [3, 2]);
});

test('an event stream refused by the server ends with that error', async () => {
  const { baseUrl, seen } = await serve((_, res) => json(res, 404, problem(404, 'not_found')));
  const stream = createClient({ baseUrl, token: 't' }).eventStream({ params: { project_id: 'prj_1' } });
  await assert.rejects(collect(stream), { code: 'not_found' });
  assert.equal(seen.length, 1);
});

test('a stream that cannot continue ends with gone and is not opened again, so that its reader reads everything again', async () => {
  const { baseUrl, seen } = await serve((_, res, count) => {
    if (count > 1) return json(res, 410, problem(410, 'gone'));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(
      `id: evt_1\nevent: x\ndata: {"id":"evt_1"}\n\nevent: problem\ndata: ${JSON.stringify(problem(410, 'gone'))}\n\n`,
    );
  });
  const client = createClient({ baseUrl, token: 't', retry });
  const got: string[] = [];
  const read = async (lastEventId?: string) => {
    for await (const { id } of client.eventStream({ params: { project_id: 'prj_1' } }, { lastEventId })) got.push(id);
  };
  await assert.rejects(read(), { code: 'gone', status: 410, detail: 'Refused: gone.', correlation_id: 'corr-1' });
  assert.equal(seen.length, 1);
  await assert.rejects(read('evt_1'), { code: 'gone' });
  assert.equal(seen.length, 2);
  assert.deepEqual(got, ['evt_1'], 'the problem is no event');
});

test('JSON lines are returned one by one, and a broken stream is an error, not a shorter file', async () => {
  const { baseUrl } = await serve((_, res, count) => {
    res.write('{"id":"aud_1"}\n{"id":');
    if (count === 1) res.end('"aud_2"}');
    else setImmediate(() => res.destroy());
  });
  const client = createClient({ baseUrl, token: 't' });
  const rows = await collect(client.auditLogExport({ params: { organization_id } }));
  assert.deepEqual(rows, [{ id: 'aud_1' }, { id: 'aud_2' }]);
  await assert.rejects(collect(client.auditLogExport({ params: { organization_id } })), { code: 'network' });
});

test('an ID cannot escape its path segment, and a raw path cannot leave the server', async () => {
  const { baseUrl, seen } = await serve((_, res) => json(res, 200, {}));
  const client = createClient({ baseUrl, token: 't' });
  await assert.rejects(client.projectGet({ params: { project_id: '..' } }), { code: 'invalid_request' });
  await assert.rejects(client.raw({ method: 'GET', path: '//127.0.0.1:1/x' }), { code: 'invalid_request' });
  await client.projectGet({ params: { project_id: '../me?x=1#' } });
  assert.deepEqual(
    seen.map(({ url }) => url),
    ['/api/v1/projects/..%2Fme%3Fx%3D1%23'],
  );
});

test('an aborted call rejects with its abort reason', async () => {
  const controller = new AbortController();
  const { baseUrl } = await serve(() => controller.abort(new Error('enough')));
  await assert.rejects(createClient({ baseUrl, token: 't' }).meGet({}, { signal: controller.signal }), {
    message: 'enough',
  });
});

test('wait polls until the condition holds and fails with timeout when time runs out', async () => {
  let reads = 0;
  const read = async () => ++reads;
  assert.equal(await wait(read, { until: (value) => value === 3, intervalMs: 1 }), 3);
  await assert.rejects(wait(read, { until: () => false, intervalMs: 1, timeoutMs: 10 }), { code: 'timeout' });
});
