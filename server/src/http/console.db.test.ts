import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startTestApp } from '../../test/app.ts';

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the console served by the API', () => {
  it('is served at every other address, and stays out of frames, the API and the documentation', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'gpuaas-console-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>Console</title>');
    await writeFile(join(folder, 'assets/app-1.js'), 'export {};');
    const { app, logs } = await startTestApp(t, { console_dir: folder });
    const get = (path: string, headers: Record<string, string> = HTML) => fetch(`${app.url}${path}`, { headers });

    for (const path of ['/', '/allocations', '/nodes/nod_1?tab=slots']) {
      const answer = await get(path);
      assert.match(await answer.text(), /<title>Console/, path);
      const { headers } = answer;
      assert.match(headers.get('content-security-policy') ?? '', /script-src 'self';.*frame-ancestors 'none'/, path);
      assert.deepEqual(
        [
          answer.status,
          headers.get('x-frame-options'),
          headers.get('x-content-type-options'),
          headers.get('cross-origin-opener-policy'),
          headers.get('cross-origin-resource-policy'),
          headers.get('cache-control'),
        ],
        [200, 'DENY', 'nosniff', 'same-origin', 'same-origin', 'no-store'],
        path,
      );
    }
    assert.equal((await get('/', { accept: '*/*' })).headers.get('content-type'), 'text/html; charset=utf-8');
    const script = await get('/assets/app-1.js', { accept: '*/*' });
    assert.deepEqual([script.status, script.headers.get('x-content-type-options')], [200, 'nosniff']);

    for (const path of ['/api/v1/nothing', '/auth/nothing', '/docs/nothing', '/assets/gone-2.js', '/.well-known/x']) {
      const answer = await get(path);
      assert.deepEqual(
        [answer.status, answer.headers.get('content-type')],
        [404, 'application/problem+json; charset=utf-8'],
        path,
      );
      assert.equal(answer.headers.get('x-frame-options'), 'DENY');
      await answer.body?.cancel();
    }
    assert.equal((await get('/allocations', { accept: 'application/json' })).status, 404);
    assert.equal((await fetch(`${app.url}/allocations`, { method: 'POST', headers: HTML })).status, 404);
    assert.match(await (await get('/docs/start')).text(), /Open the console/);
    assert.match(await (await get('/docs')).text(), /API reference/);
    assert.deepEqual(
      logs.filter(({ level }) => level === 'error'),
      [],
    );
  });

  it('explains how to build it where it is not built', async (t) => {
    const { app } = await startTestApp(t);
    const page = await (await fetch(app.url, { headers: HTML })).text();
    assert.match(page, /<code>make console<\/code>/);
    assert.equal((await fetch(`${app.url}/allocations`, { headers: HTML })).status, 404);
  });
});
