import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { flawsSince } from './previous-release.ts';

const AUTHOR = ['-c', 'user.name=ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];

it('a migration of the previous release that is changed or removed is found, and so is a commit that a clone lacks', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'gpuaas-history-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const git = (...args: readonly string[]) =>
    execFileSync('git', [...AUTHOR, ...args], { cwd: root, encoding: 'utf8' });
  const write = (name: string, sql: string) => writeFile(join(root, 'server/migrations', name), sql);
  const commit = () => {
    git('add', '--all');
    git('commit', '--quiet', '--message', 'x');
    return git('rev-parse', 'HEAD').trim();
  };
  git('init', '--quiet');
  await mkdir(join(root, 'server/migrations'), { recursive: true });
  await write('0001_a.sql', 'select 1;');
  await write('0002_b.sql', 'select 2;');
  const previous = commit();
  assert.deepEqual(flawsSince(previous, root), []);
  await write('0003_c.sql', 'select 3;');
  const next = commit();
  assert.deepEqual(flawsSince(previous, root), [], 'a new one is allowed');
  await write('0001_a.sql', 'select 0;');
  await rm(join(root, 'server/migrations/0002_b.sql'));
  const found = flawsSince(previous, root);
  assert.deepEqual(
    found.map((flaw) => flaw.split(':')[0]),
    ['server/migrations/0001_a.sql', 'server/migrations/0002_b.sql'],
  );
  assert.match(found[0] ?? '', /changed since the previous release.*add a new migration/);
  git('checkout', '--quiet', '--force', previous);
  assert.match(flawsSince(next, root).join(), /not in the history of this checkout/);
  assert.match(flawsSince('0'.repeat(40), root).join(), /does not have commit 0+, .*git fetch --unshallow/);
  assert.match(flawsSince('main', root).join(), /"main" is not the full name of a commit/);
});
