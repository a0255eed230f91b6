import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { whyFailed } from './failure.ts';

const run = promisify(execFile);
const failureOf = async (work: () => Promise<unknown>): Promise<string> => {
  const [result] = await Promise.allSettled([work()]);
  assert.equal(result.status, 'rejected');
  const text = whyFailed(result.reason);
  assert.doesNotMatch(text, /\n\s+at /, 'no stack');
  return text;
};

test('a benchmark whose program is not installed names the program', async () => {
  assert.equal(
    await failureOf(() => run('gpuaas-no-such-program')),
    'it needs the program gpuaas-no-such-program, which is not installed',
  );
});

test('a benchmark whose file is missing names the file', async () => {
  assert.equal(await failureOf(() => readFile('/no/such/file')), 'it needs /no/such/file, which does not exist');
});

test('a program that failed shows the end of its error output', async () => {
  const text = await failureOf(() => run('sh', ['-c', 'echo the disk is full >&2; exit 3']));
  assert.match(text, /the disk is full$/);
});

test('any other failure shows its message and its causes, without repetition', async () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432');
  const text = await failureOf(() =>
    Promise.reject(new Error('The database is not there', { cause: new AggregateError([refused, refused]) })),
  );
  assert.equal(text, 'The database is not there: connect ECONNREFUSED 127.0.0.1:5432');
  assert.equal(await failureOf(() => Promise.reject('plain text')), 'plain text');
});
