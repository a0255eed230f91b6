/** The build for users contains only the console. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureConsole } from '../../tools/build-console.ts';
import { createMockApi } from '../mock-api/index.ts';
import { XSS_MARK } from '../mock-api/seed/hostile.ts';

const textOf = (dir: string): string =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:js|css|html|json|map)$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');

test('the mock API, its users and its hostile texts are only in the demo build', async () => {
  const api = createMockApi({ now: () => 0 });
  const domains = [...api.world.users.values()].flatMap(({ email }) => email?.split('@')[1] ?? []);
  api.close();
  const words = [...new Set([XSS_MARK, ...domains])];
  const [demo, console] = [textOf(await ensureConsole('console-demo')), textOf(await ensureConsole('console'))];
  for (const word of words) assert.deepEqual([demo.includes(word), console.includes(word)], [true, false], word);
});

test('the build does not evaluate text as code, load from other sites or refer to its sources', async () => {
  const text = textOf(await ensureConsole('console'));
  assert.doesNotMatch(text, /sourceMappingURL/);
  assert.doesNotMatch(text, /\bnew Function\(|[^.\w]eval\(/);
  assert.doesNotMatch(text, /(?:src|href)="https?:|@import|url\(["']?https?:/);
});
