import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { api, ERROR_CODES, ERRORS } from '@gpuaas/contract';
import { ensureReference } from '../../../tools/build-reference.ts';
import { DOCS_CSP, docsPage, errorPage, landingPage, llmsTxt, openapiJson, redocBundle } from './docs.ts';

describe('documentation', () => {
  it('serves the contract with a server address that is valid wherever it is read', () => {
    const document = JSON.parse(openapiJson());
    assert.equal(document.openapi, '3.1.0');
    assert.deepEqual(document.servers, [{ url: '/', description: 'This server.' }]);
  });

  it('has a page for every error code with the fix, and none for others', () => {
    for (const code of ERROR_CODES) {
      const page = errorPage(code) ?? '';
      assert.ok(page.includes(`<code>${code}</code>`) && page.includes(String(ERRORS[code].status)), code);
    }
    assert.equal(errorPage('no_such_code'), undefined);
    assert.equal(errorPage('constructor'), undefined);
  });

  it('lists every operation and every error code in llms.txt', () => {
    const text = llmsTxt('https://gpu.example.org');
    for (const [id, operation] of Object.entries(api))
      assert.ok(text.includes(`- ${id}: ${operation.method} ${operation.path}: ${operation.summary}`), id);
    for (const code of ERROR_CODES) assert.ok(text.includes(`- ${code} (`), code);
    assert.ok(text.includes('https://gpu.example.org/openapi.json'));
  });

  it('loads nothing from another host', async () => {
    const outside = /(?:src|href)="(?:https?:)?\/\//;
    for (const page of [docsPage(), landingPage('http://localhost:8080', false), errorPage('internal') ?? ''])
      assert.doesNotMatch(page, outside);
    await ensureReference();
    const bundle = (await redocBundle()) ?? '';
    assert.ok(bundle.includes("Redoc.init('/openapi.json'"));
    assert.ok(!bundle.includes('cdn.redoc.ly'));
    assert.ok(!DOCS_CSP.includes('http'));
  });

  it('runs no inline script and escapes its input', () => {
    assert.doesNotMatch(docsPage(), /<script(?![^>]*\bsrc=)/);
    assert.ok(landingPage('http://x/"><script>', true).includes('&#34;&#62;&#60;script&#62;'));
  });
});
