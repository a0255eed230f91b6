import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Problem, Static } from '@gpuaas/contract';
import { startTestApp, type TestApp } from '../../test/app.ts';
import type { User } from '../../test/tenants.ts';
import { dial, message, type RawResponse, say } from '../../test/wire.ts';

const MIB = 1024 * 1024;
const RSS_GROWTH_MAX = 50 * MIB;
const WITHIN_MS = 2_000;
const SLOW = { headers_timeout_ms: 300, request_timeout_ms: 600 };

describe('hostile input over the wire', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let ada: User;
  let url: string;

  before(async () => {
    test = await startTestApp(t, SLOW);
    ada = await test.user('ada');
    url = test.app.url ?? '';
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const auth = () => `Authorization: Bearer ${ada.token}`;
  const projects = () => `/api/v1/organizations/${ada.organization_id}/projects`;
  const problemOf = (answer: RawResponse): Static<typeof Problem> => JSON.parse(answer.text);

  const post = (body: string | Buffer, headers: readonly string[] = ['Content-Type: application/json']) =>
    say(
      url,
      message(
        `POST ${projects()}`,
        [auth(), `Idempotency-Key: ${randomUUID()}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
        body,
      ),
    );

  const assertRefused = (what: string, answer: RawResponse, status: number, code: string): void => {
    assert.equal(answer.status, status, `${what}: ${answer.head} ${answer.text}`);
    const problem = problemOf(answer);
    assert.equal(problem.code, code, what);
    assert.match(answer.head, new RegExp(`^x-correlation-id: ${problem.correlation_id}$`, 'im'), what);
    assert.ok(answer.ms < WITHIN_MS, `${what} took ${Math.round(answer.ms)} ms`);
  };

  describe('bodies', () => {
    const floodOnce = async (headers: readonly string[], chunk: Buffer): Promise<RawResponse> => {
      const wire = dial(url);
      wire.socket.write(message(`POST ${projects()}`, [auth(), `Idempotency-Key: ${randomUUID()}`, ...headers]));
      let left = 100;
      const pump = () => {
        while (left-- > 0 && !wire.socket.destroyed) if (!wire.socket.write(chunk)) return;
      };
      wire.socket.on('drain', pump);
      pump();
      const answer = await wire.answer((text) => text.includes('\r\n\r\n') && text.trimEnd().endsWith('}'));
      wire.socket.destroy();
      return answer;
    };

    /** The reset of a connection with unread bytes can overtake the response, so one without response is tried again. */
    const flood = async (headers: readonly string[], chunk: Buffer, tries = 10): Promise<RawResponse> => {
      const response = await floodOnce(headers, chunk);
      return response.status === 0 && tries > 1 ? flood(headers, chunk, tries - 1) : response;
    };

    it('of 100 MiB are 413 immediately and never held in memory', async () => {
      const before = process.memoryUsage().rss;
      const chunk = Buffer.alloc(MIB, 'a');
      const json = 'Content-Type: application/json';
      assertRefused('announced', await flood([json, `Content-Length: ${100 * MIB}`], chunk), 413, 'payload_too_large');
      const chunked = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
      assertRefused('chunked', await flood([json, 'Transfer-Encoding: chunked'], chunked), 413, 'payload_too_large');
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < RSS_GROWTH_MAX, `memory grew by ${Math.round(grown / MIB)} MiB`);
    });

    it('without sign-in are refused before they are read', async () => {
      const answer = await say(
        url,
        message(`POST ${projects()}`, ['Content-Type: application/json', `Content-Length: ${MIB}`], '{"name":'),
      );
      assertRefused('unsigned', answer, 401, 'unauthenticated');
    });

    const keys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')}}`;
    const bad: Record<string, readonly [string | Buffer, number, string]> = {
      'nested 100,000 deep': [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400, 'invalid_request'],
      'nested 100,000 deep in objects': [`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 400, 'invalid_request'],
      'with 1,000,000 keys': [keys(1_000_000), 413, 'payload_too_large'],
      'with 80,000 keys': [keys(80_000), 400, 'invalid_request'],
      'with a key that stands twice': ['{"name":"a","name":"b"}', 400, 'invalid_request'],
      'with the same key spelt twice': ['{"name":"a","n\\u0061me":"b"}', 400, 'invalid_request'],
      'with __proto__': ['{"name":"a","__proto__":{"admin":true}}', 400, 'invalid_request'],
      'with __proto__ escaped': ['{"name":"a","\\u005f_proto__":{"admin":true}}', 400, 'invalid_request'],
      'with constructor': ['{"name":"a","constructor":{"prototype":{"admin":true}}}', 400, 'invalid_request'],
      'with NaN': ['{"name":NaN}', 400, 'invalid_request'],
      'with 1e999': ['{"name":1e999}', 400, 'invalid_request'],
      'with a lone surrogate': ['{"name":"x","display_name":"a\\ud800b"}', 400, 'invalid_request'],
      'with NUL escaped': ['{"name":"x","display_name":"a\\u0000b"}', 400, 'invalid_request'],
      'with NUL raw': ['{"name":"x","display_name":"a\u0000b"}', 400, 'invalid_request'],
      'with a right-to-left override': ['{"name":"x","display_name":"a\u202eb"}', 400, 'invalid_request'],
      'with a zero-width space': ['{"name":"x","display_name":"a\u200bb"}', 400, 'invalid_request'],
      'with invalid UTF-8': [Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 400, 'invalid_request'],
      'with overlong UTF-8': [Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400, 'invalid_request'],
      'with a byte order mark': ['\ufeff{"name":"x"}', 400, 'invalid_request'],
      'that end early': ['{"name":"x"', 400, 'invalid_request'],
      'with something behind them': ['{"name":"x"} {"name":"y"}', 400, 'invalid_request'],
      'that are a list': ['[{"name":"x"}]', 400, 'invalid_request'],
      'that are null': ['null', 400, 'invalid_request'],
      'that are empty': ['', 400, 'invalid_request'],
      'with an unknown field': ['{"name":"x","role":"owner"}', 400, 'invalid_request'],
      'with a number for a text': ['{"name":7}', 400, 'invalid_request'],
    };
    for (const [what, [body, status, code]] of Object.entries(bad))
      it(`${what} are ${status}`, async () => assertRefused(what, await post(body), status, code));

    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-16',
      'application/jsonx',
      'multipart/form-data; boundary=x',
      ';;;',
    ])
      it(`of type ${JSON.stringify(type)} are not read as JSON in UTF-8`, async () => {
        const answer = await post('{"name":"x"}', [`Content-Type: ${type}`]);
        assertRefused(type, answer, 415, 'unsupported_media_type');
      });

    it('without a type are 415', async () => {
      assertRefused('no type', await post('{"name":"x"}', []), 415, 'unsupported_media_type');
    });
  });

  describe('names', () => {
    const payloads = {
      YAML: 'x: !!js/function >',
      XML: '<a><!ENTITY x SYSTEM "file:///etc/passwd">]></a>',
      'a shell': '$(reboot);`id`|nc',
      ANSI: '\u001b[2J\u001b[31m',
      CSV: "=cmd|'/c calc'!A1",
      path: '../../etc/passwd',
      template: '{{7*7}}',
      SQL: "'; drop table projects; --",
      'right-to-left': 'abc\u202edcb',
      'zero-width': 'ab\u200bc',
      newline: 'a\nb',
      upper: 'ABC',
      long: 'x'.repeat(64),
      empty: '',
      dashes: '-x-',
    };
    for (const [kind, name] of Object.entries(payloads))
      it(`with ${kind} in them are refused by the grammar`, async () => {
        const before = test.logs.length;
        assertRefused(kind, await post(JSON.stringify({ name })), 400, 'invalid_request');
        // The response and the log may quote the field, never the payload where it could take effect.
        assert.doesNotMatch(JSON.stringify(test.logs.slice(before)), /\\u001b|\\u202e/);
      });
  });

  describe('slow clients', () => {
    it('that never finish their headers are disconnected', async () => {
      const wire = dial(url);
      wire.socket.write('GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-Slow: a');
      const answer = await wire.answer();
      assert.ok(answer.status === 408 || answer.status === 0, answer.head);
      assert.ok(answer.ms < 5_000, `${answer.ms}`);
    });

    it('that never finish their body are disconnected', async () => {
      const wire = dial(url);
      wire.socket.write(
        message(`POST ${projects()}`, [auth(), 'Content-Type: application/json', 'Content-Length: 1000'], '{"name":'),
      );
      const drip = setInterval(() => wire.socket.write('"'), 100);
      const answer = await wire.answer();
      clearInterval(drip);
      assert.ok(answer.status === 408 || answer.status === 0, `${answer.head} ${answer.text}`);
      assert.ok(answer.ms < 5_000, `${answer.ms}`);
    });

    it('do not delay others', async () => {
      const slow = Array.from({ length: 50 }, () => dial(url));
      for (const { socket } of slow) socket.write('GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-');
      const answer = await say(url, message('GET /api/v1/me', [auth()]));
      assert.equal(answer.status, 200);
      await Promise.all(slow.map(({ answer: ended }) => ended()));
    });
  });

  describe('headers', () => {
    const me = (headers: readonly string[]) => say(url, message('GET /api/v1/me', [auth(), ...headers]));
    const idOf = (answer: RawResponse) => /^x-correlation-id: (.*)$/im.exec(answer.head)?.[1] ?? '';
    const linesOf = (id: string) => test.logs.filter((line) => line['correlation_id'] === id);

    it('a well-formed correlation id reaches the log, on one line', async () => {
      const answer = await me(['X-Correlation-Id: my-request-0001']);
      assert.equal(idOf(answer), 'my-request-0001');
      assert.equal(linesOf('my-request-0001').length, 1);
    });

    for (const [what, id] of Object.entries({
      'of 10 KiB': 'a'.repeat(10 * 1024),
      'with quotes': 'abcdefgh"}{"level":"fatal',
      'with spaces': 'abcd efgh ijkl',
      'with a tab': 'abcdefgh\tx',
      'in Latin-1': 'abcdefgh\u00e9',
      'that is short': 'abc',
      'that is empty': '',
    }))
      it(`a correlation id ${what} is replaced`, async () => {
        const answer = await me([`X-Correlation-Id: ${id}`]);
        assert.equal(answer.status, 200);
        assert.match(idOf(answer), /^[0-9a-f-]{36}$/);
        assert.equal(linesOf(idOf(answer)).length, 1);
        assert.equal(linesOf(id).length, 0);
      });

    it('a bare CR or LF, a NUL or a folded line is refused', async () => {
      for (const line of [
        'X-Correlation-Id: aaaaaaaa\rSet-Cookie: x=1',
        'X-A: b\u0000c',
        'X-A: b\r\n folded',
        'X A: b',
        'X-A\u0001: b',
        ': b',
      ])
        assertRefused(JSON.stringify(line), await me([line]), 400, 'invalid_request');
      // A line feed ends a header, so the next line is a separate header: it must not appear in the response.
      const split = await me(['X-Correlation-Id: aaaaaaaa\nSet-Cookie: x=1']);
      assert.doesNotMatch(split.head, /set-cookie/i);
    });

    it('more than 16 KiB of them are 431', async () => {
      assertRefused('overflow', await me([`X-Long: ${'a'.repeat(20_000)}`]), 431, 'header_too_large');
      const many = Array.from({ length: 2_000 }, (_, n) => `X-${n}: aaaaaaaaaa`);
      assertRefused('many', await me(many), 431, 'header_too_large');
    });

    it('forwarding headers are ignored, unless a proxy is trusted', async () => {
      const rows = async (app: TestApp, correlation: string) =>
        (
          await app.db.database.read({ tenant_id: '*', principal_id: '' }, (reader) =>
            reader.query<{ source_ip: string }>('select source_ip from audit_logs where correlation_id = $1', [
              correlation,
            ]),
          )
        ).rows.map((row) => row.source_ip);
      const claim = async (app: TestApp, caller: User) => {
        const id = `forwarded-${randomUUID()}`;
        const body = JSON.stringify({ name: `f-${randomUUID().slice(0, 8)}` });
        const head = [
          `Authorization: Bearer ${caller.token}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          `Idempotency-Key: ${randomUUID()}`,
          `X-Correlation-Id: ${id}`,
          'X-Forwarded-For: 203.0.113.9',
          'X-Real-IP: 203.0.113.9',
          'Forwarded: for=203.0.113.9',
          'X-Forwarded-Host: evil.example',
        ];
        const path = `/api/v1/organizations/${caller.organization_id}/projects`;
        const answer = await say(app.app.url ?? '', message(`POST ${path}`, head, body));
        assert.equal(answer.status, 201);
        assert.doesNotMatch(answer.head + answer.text, /evil/);
        return rows(app, id);
      };
      assert.deepEqual(await claim(test, ada), ['127.0.0.1']);
      const behind = await startTestApp(t, { trust_proxy: 'loopback' });
      assert.deepEqual(await claim(behind, await behind.user('grace')), ['203.0.113.9']);
    });

    it('a credential that is not a bearer token is 401, in any encoding', async () => {
      for (const value of [
        'Basic YTpi',
        'Bearer',
        'Bearer  x',
        `Bearer ${'a'.repeat(9_000)}`,
        'Bearer a b',
        "Bearer ' or 1=1 --",
        'Bearer null',
        `Bearer gpuaas_pat_${'\u00e9'.repeat(5)}`,
      ])
        assertRefused(
          value.slice(0, 40),
          await say(url, message('GET /api/v1/me', [`Authorization: ${value}`])),
          401,
          'unauthenticated',
        );
    });
  });

  describe('requests', () => {
    it('with two different lengths are 400 and the connection ends', async () => {
      const smuggled = 'GET /api/v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';
      const pairs = {
        'length and chunks': ['Content-Length: 6', 'Transfer-Encoding: chunked'],
        'two lengths': ['Content-Length: 6', 'Content-Length: 60'],
        'chunks spelt oddly': ['Transfer-Encoding: xchunked', 'Content-Length: 6'],
        'chunks twice': ['Transfer-Encoding: identity, chunked', 'Content-Length: 6'],
        'a signed length': ['Content-Length: +6'],
      };
      for (const [what, lengths] of Object.entries(pairs)) {
        const wire = dial(url);
        const head = [
          'POST /api/v1/auth/token HTTP/1.1',
          'Host: localhost',
          'Content-Type: application/json',
          ...lengths,
        ];
        wire.socket.write(`${head.join('\r\n')}\r\n\r\n0\r\n\r\n${smuggled}`);
        const answer = await wire.answer();
        assert.equal(answer.status, 400, `${what}: ${answer.head}`);
        assert.equal(answer.text.includes('HTTP/1.1'), false, `${what}: a second request was answered`);
      }
    });

    it('with TRACE, CONNECT or an unknown method are refused', async () => {
      for (const method of ['TRACE', 'CONNECT', 'TRACK', 'BREW', 'get']) {
        const answer = await say(url, message(`${method} /api/v1/me`, [auth(), 'X-Secret: canary']));
        assert.ok(answer.status === 0 || (answer.status >= 400 && answer.status < 500), `${method}: ${answer.head}`);
        assert.doesNotMatch(answer.text, /canary/);
      }
      assertRefused('TRACE', await say(url, message('TRACE /api/v1/me', [auth()])), 405, 'method_not_allowed');
    });

    it('with bad percent encoding or unprintable paths are 4xx, in the envelope and in the log', async () => {
      for (const path of [
        '/api/v1/projects/%',
        '/api/v1/projects/%zz',
        '/%c0%af',
        '/api/v1/projects/%00',
        '/api/v1/../../etc/passwd',
        '/api/v1/projects/%2e%2e%2f',
        '//evil.example/api/v1/me',
        '/api/v1/me/',
        '/API/V1/ME',
      ]) {
        const answer = await say(url, message(`GET ${path}`, [auth()]));
        assert.ok([400, 404].includes(answer.status), `${path}: ${answer.head}`);
        const { correlation_id } = problemOf(answer);
        assert.equal(test.logs.filter((line) => line['correlation_id'] === correlation_id).length, 1, path);
      }
    });

    it('to a very long address are 4xx', async () => {
      const long = await say(url, message(`GET /api/v1/projects/${'a'.repeat(8_000)}`, [auth()]));
      assertRefused('long id', long, 404, 'not_found');
      const query = await say(url, message(`GET /api/v1/regions?cursor=${'a'.repeat(8_000)}`, [auth()]));
      assertRefused('long cursor', query, 400, 'invalid_request');
      assertRefused(
        'longer than headers',
        await say(url, message(`GET /${'a'.repeat(20_000)}`, [])),
        431,
        'header_too_large',
      );
    });

    it('with unknown or duplicate parameters are 400', async () => {
      for (const query of [
        'admin=true',
        'limit=1&limit=2',
        'limit[]=1',
        '__proto__=1',
        'limit=0',
        'limit=201',
        'limit=1e400',
        'limit=%FF',
      ])
        assertRefused(query, await say(url, message(`GET /api/v1/regions?${query}`, [auth()])), 400, 'invalid_request');
    });

    it('that are not HTTP are 400 and logged', async () => {
      const before = test.logs.length;
      for (const bytes of [
        '\u0016\u0003\u0001\u0002\u0000\u0001',
        'HELLO\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        'GET /api/v1/me HTTP/1.1\r\n\r\n',
      ])
        assert.equal((await say(url, bytes)).status, 400, JSON.stringify(bytes));
      assert.ok(test.logs.length > before);
    });
  });

  it('the server still responds after all of this', async () => {
    const answer = await say(url, message('GET /api/v1/me', [auth()]));
    assert.equal(answer.status, 200);
    assert.deepEqual(
      test.logs.filter((line) => line['level'] === 'error' || line['level'] === 50),
      [],
    );
  });
});
