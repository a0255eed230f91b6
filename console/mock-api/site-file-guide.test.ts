import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { SiteFile } from '@gpuaas/contract';
import { readSiteText } from '@gpuaas/sdk/site-file';
import { Value } from 'typebox/value';

test('the first site file of the guide has the form that the API takes', async () => {
  const path = join(import.meta.dirname, '../../doc/operations/site-file.md');
  const [, text = ''] = /## The first file\n[\s\S]*?```yaml\n([\s\S]*?)```/.exec(await readFile(path, 'utf8')) ?? [];
  const read = readSiteText(text);
  assert.ok('site' in read, JSON.stringify(read));
  assert.deepEqual([...Value.Errors(SiteFile, read.site)], []);
});
