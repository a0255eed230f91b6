import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePrograms, makeTree } from '../../../test/tree.ts';
import { createFiles } from './files.ts';
import { createRecordedRun, createRun, outputOf } from './run.ts';

test('arguments reach a program unchanged: nothing in them is shell syntax', async () => {
  const words = ['$(id)', '; rm -rf /', '`id`', 'a b', "'", '"', '*'];
  const { stdout, status } = await createRun()({ argv: ['printf', '%s\n', ...words], recorded: '' });
  assert.equal(status, 0);
  assert.deepEqual(stdout.trimEnd().split('\n'), words);
});

test('missing, failing and hanging programs are distinguished', async (context) => {
  const tree = await makeTree({});
  context.after(tree.remove);
  const { path } = await makePrograms(join(tree.root, 'bin'), {
    failing: 'echo first >&2; echo last words >&2; exit 7',
    endless: 'exec sleep 600',
    flood: 'exec cat /dev/zero',
  });
  const run = createRun(path);
  await assert.rejects(run({ argv: ['no-such-program'], recorded: '' }), { code: 'unsupported' });
  assert.equal((await run({ argv: ['failing'], recorded: '' })).status, 7);
  await assert.rejects(
    outputOf(run, { argv: ['failing'], recorded: '' }),
    /failing failed with status 7: last words\./,
  );
  await assert.rejects(run({ argv: ['endless'], recorded: '', timeout_ms: 50 }), { code: 'timeout' });
  await assert.rejects(run({ argv: ['flood'], recorded: '' }), /printed more than/);
});

test('a program gets only its small environment and the given input', async () => {
  process.env['GPUAAS_TEST_SECRET'] = 'canary';
  const { stdout } = await createRun()({ argv: ['env'], recorded: '' });
  delete process.env['GPUAAS_TEST_SECRET'];
  assert.doesNotMatch(stdout, /canary/);
  assert.equal((await createRun()({ argv: ['cat'], recorded: '', input: 'line\n' })).stdout, 'line\n');
});

test('a recorded command returns its recorded output, and an unrecorded one fails', async (context) => {
  const tree = await makeTree({ '/commands/one.txt': 'recorded\n' });
  context.after(tree.remove);
  const run = createRecordedRun(createFiles(tree.root));
  assert.equal((await run({ argv: ['rm', '-rf', '/'], recorded: 'one.txt' })).stdout, 'recorded');
  await assert.rejects(run({ argv: ['virsh'], recorded: 'two.txt' }), /holds nothing of virsh/);
});
