import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePrograms, makeTree } from '../../../test/tree.ts';
import { createFiles } from './files.ts';
import { createRecordedRun, createRun, outputOf } from './run.ts';

test('words reach a program as they are: nothing in them is syntax', async () => {
  const words = ['$(id)', '; rm -rf /', '`id`', 'a b', "'", '"', '*'];
  const { stdout, status } = await createRun()({ argv: ['printf', '%s\n', ...words], recorded: '' });
  assert.equal(status, 0);
  assert.deepEqual(stdout.trimEnd().split('\n'), words);
});

test('a program that is missing, fails or goes on for ever is told apart', async (context) => {
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

test('a program sees its own small environment and what it is given on its input', async () => {
  process.env['GPUAAS_TEST_SECRET'] = 'canary';
  const { stdout } = await createRun()({ argv: ['env'], recorded: '' });
  delete process.env['GPUAAS_TEST_SECRET'];
  assert.doesNotMatch(stdout, /canary/);
  assert.equal((await createRun()({ argv: ['cat'], recorded: '', input: 'line\n' })).stdout, 'line\n');
});

test('of a recording only what it holds can be told', async (context) => {
  const tree = await makeTree({ '/commands/one.txt': 'recorded\n' });
  context.after(tree.remove);
  const run = createRecordedRun(createFiles(tree.root));
  assert.equal((await run({ argv: ['rm', '-rf', '/'], recorded: 'one.txt' })).stdout, 'recorded');
  await assert.rejects(run({ argv: ['virsh'], recorded: 'two.txt' }), /holds nothing of virsh/);
});
