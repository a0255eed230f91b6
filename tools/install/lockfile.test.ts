import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

type Entry = Readonly<{
  version?: string;
  resolved?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}>;

const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, Entry>;
};

/** Looks a name up as Node does: in the package's own directory, then in each directory above. */
const isLocked = (from: string, name: string): boolean => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    if (packages[`${at}${at ? '/' : ''}node_modules/${name}`] !== undefined) return true;
    if (at === '') return false;
  }
};

// npm omits the packages of other platforms when the registry does not hold them, and then `npm ci` refuses the
// lockfile on every host.
test('the lockfile names every package, including those of other platforms', () => {
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !isLocked(path, name))
      .map((name) => `${name} of ${path || 'the root'}`),
  );
  assert.deepEqual(missing, []);
});

test('the lockfile holds no download address', () => {
  const addresses = Object.entries(packages).filter(
    ([, entry]) => !entry.link && entry.resolved !== undefined && /^[a-z+]+:/.test(entry.resolved),
  );
  assert.deepEqual(addresses, []);
});
