import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { mayBeSkipped, SKIPPABLE } from './verdict.ts';

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
const listed = (file: string): readonly string[] =>
  read(file)
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter(Boolean);

// A package that an image of CI happens to have is missing on the next one.
test('every Debian package that a skip names is installed by the runner, and listed once', () => {
  const installed = [...listed('packages.txt'), ...listed('bench-packages.txt')];
  const named = [...read('requires.ts').matchAll(/\(Debian: ([^)]+)\)/g)].flatMap(([, names = '']) =>
    names.split(', '),
  );
  assert.ok(named.length > 20, 'requires.ts names packages');
  assert.deepEqual(
    named.filter((name) => !installed.includes(name)),
    [],
  );
  assert.deepEqual(installed, [...new Set(installed)]);
});

test('a missing package or privilege is never an allowed skip', () => {
  const reasons = [...read('requires.ts').matchAll(/'((?:[\w-]+): [^']*(?:\(Debian: |root|kernel)[^']*)'/g)].map(
    ([, reason = '']) => reason,
  );
  assert.ok(reasons.length > 25, 'requires.ts states its reasons');
  assert.deepEqual(reasons.filter(mayBeSkipped), []);
});

test('CONTRIBUTING names every allowed reason of a skip', () => {
  const text = read('../../CONTRIBUTING.md');
  assert.deepEqual(
    SKIPPABLE.filter((reason) => !text.includes(`(\`${reason}\`)`)),
    [],
  );
});
