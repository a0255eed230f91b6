import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const SHARED = 'ui/ui.css';

test('no two pages define the same style name, because styles of a page stay loaded', () => {
  const files = globSync('**/*.css', { cwd: import.meta.dirname }).map((file) => file.replaceAll('\\', '/'));
  const classesOf = (file: string): ReadonlySet<string> =>
    new Set(readFileSync(join(import.meta.dirname, file), 'utf8').match(/(?<![\w)])\.[a-z][\w-]*/g));
  const shared = classesOf(SHARED);
  const owners = new Map<string, string[]>();
  for (const file of files.filter((one) => one !== SHARED))
    for (const name of classesOf(file)) if (!shared.has(name)) owners.set(name, [...(owners.get(name) ?? []), file]);
  assert.ok(owners.size > 50, 'the styles of the pages were found');
  assert.deepEqual(
    [...owners].filter(([, found]) => found.length > 1),
    [],
  );
});
