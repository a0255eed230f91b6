import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { flawOf, subjectsSince } from './commit-subjects.ts';

it('a subject is short, without a prefix and without a period', () => {
  assert.equal(flawOf('Keep claims until a wipe is proven'), null);
  assert.equal(flawOf('x'.repeat(72)), null);
  assert.match(flawOf('x'.repeat(73)) ?? '', /73 characters: 72 at most/);
  assert.match(flawOf('fix: keep claims') ?? '', /prefix/);
  assert.match(flawOf('feat(server)!: keep claims') ?? '', /prefix/);
  assert.match(flawOf('Keep claims.') ?? '', /period/);
});

it('subjects after the recorded commit are read, and none in a clone that lacks it', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'gpuaas-subjects-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const author = ['-c', 'user.name=ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];
  const git = (...args: readonly string[]) =>
    execFileSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' }).trim();
  git('init', '--quiet');
  for (const subject of ['Old', 'Base', 'First', 'Second'])
    git('commit', '--quiet', '--allow-empty', '--message', `${subject}\n\nWhy.`);
  const base = git('rev-parse', 'HEAD~2');
  assert.deepEqual(subjectsSince(base, root), ['Second', 'First']);
  const shallow = join(root, 'shallow');
  git('clone', '--quiet', '--depth', '1', `file://${root}`, shallow);
  assert.equal(subjectsSince(base, shallow), null);
});
