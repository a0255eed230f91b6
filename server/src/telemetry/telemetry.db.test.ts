import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../../test/app.ts';

type Span = {
  name: string;
  traceId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { stringValue?: string } }[];
};

/** A collector that stores the spans it receives, in the OTLP/HTTP JSON encoding. */
const startCollector = async () => {
  const spans: Span[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      for (const resource of body.resourceSpans) for (const scope of resource.scopeSpans) spans.push(...scope.spans);
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
};

describe('telemetry', () => {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const stop of closers.splice(0)) await stop();
  };
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let test: TestApp;
  let ada: Awaited<ReturnType<TestApp['user']>>;

  before(async () => {
    collector = await startCollector();
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { otlp_url: collector.url });
    ada = await test.user('ada');
  });
  after(async () => {
    await close();
    collector.close();
  });

  it('a request leaves one log line with the fields the runbooks query', async () => {
    const correlation = 'telemetry-test-1';
    const trace = '0af7651916cd43dd8448eb211c80319c';
    await ada.call('GET', `/api/v1/projects/${ada.project_id}`, undefined, {
      'x-correlation-id': correlation,
      traceparent: `00-${trace}-b7ad6b7169203331-01`,
    });
    const lines = test.logs.filter((line) => line['correlation_id'] === correlation);
    assert.equal(lines.length, 1);
    const [line] = lines;
    for (const field of ['timestamp', 'level', 'service', 'host_role', 'host_name', 'message'])
      assert.ok(line?.[field], field);
    assert.deepEqual(
      [line?.['trace_id'], line?.['org_id'], line?.['project_id'], line?.['host_role'], line?.['operation']],
      [trace, ada.organization_id, ada.project_id, 'platform_control', 'projectGet'],
    );
  });

  it('an error leaves its code and correlation id in the log', async () => {
    const refused = await ada.get('/api/v1/projects/prj_00000000000000000000000000');
    const line = test.logs.find((entry) => entry['correlation_id'] === refused.body.correlation_id);
    assert.deepEqual([line?.['error_code'], line?.['status']], ['not_found', 404]);
  });

  it('metrics count requests by operation and export the state of the database, outbox and workflows', async () => {
    const metrics = await test.bearer(null).get('/metrics');
    assert.equal(metrics.status, 200);
    for (const expected of [
      /gpuaas_http_request_duration_seconds_count\{operation="projectGet",method="GET",status="200"\} \d+/,
      /gpuaas_http_errors_total\{operation="projectGet",status="404"\} \d+/,
      /gpuaas_database_up 1/,
      /gpuaas_outbox_unsent \d+/,
      /gpuaas_outbox_lag_seconds [\d.]+/,
    ])
      assert.match(metrics.body, expected);
  });

  it('health reports liveness, readiness reports whether the process can work', async () => {
    assert.deepEqual((await test.bearer(null).get('/healthz')).body, { status: 'alive' });
    assert.equal((await test.bearer(null).get('/readyz')).body.ready, true);
  });

  it("spans go to the collector below the caller's trace and carry the correlation id", async () => {
    await close();
    const span = collector.spans.find(({ attributes }) =>
      attributes.some(({ value }) => value.stringValue === 'telemetry-test-1'),
    );
    assert.deepEqual(
      [span?.name, span?.traceId, span?.parentSpanId],
      ['projectGet', '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'],
    );
  });
});

describe('a process without the API', () => {
  it('still reports liveness and readiness, exports its own metrics, and serves nothing else', async (t) => {
    const closers: (() => Promise<void>)[] = [];
    const test = await startTestApp(
      { after: (fn) => void closers.unshift(fn) },
      { roles: ['gpuaas-provisioning-worker'] },
    );
    t.after(async () => {
      for (const stop of closers) await stop();
    });
    const { get } = test.bearer(null);
    assert.equal((await get('/healthz')).status, 200);
    assert.equal((await get('/readyz')).body.ready, true);
    assert.match((await get('/metrics')).body, /gpuaas_invariant_violations/);
    assert.equal((await get('/api/v1/me')).status, 404);
  });
});

describe('metrics behind a token', () => {
  it('are returned only with the token', async (t) => {
    const closers: (() => Promise<void>)[] = [];
    const test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { metrics_token: 'a-long-secret' });
    t.after(async () => {
      for (const stop of closers) await stop();
    });
    assert.equal((await test.bearer(null).get('/metrics')).status, 404);
    assert.equal((await test.bearer('wrong').get('/metrics')).status, 404);
    assert.equal((await test.bearer('a-long-secret').get('/metrics')).status, 200);
  });
});
