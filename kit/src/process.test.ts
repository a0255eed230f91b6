import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { findProcessCommand, findProcessIdentity, isProcessAlive } from './process.ts';

test('a process keeps its identity while it lives and loses it when it ends', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const identity = findProcessIdentity(child.pid ?? 0) ?? '';
  assert.ok(identity.startsWith(`${child.pid}:`));
  assert.equal(findProcessIdentity(child.pid ?? 0), identity);
  assert.ok(isProcessAlive(identity));
  assert.match(findProcessCommand(child.pid ?? 0) ?? '', /sleep 60$/);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isProcessAlive(identity), false);
  assert.equal(findProcessIdentity(child.pid ?? 0), undefined);
});

test('the same pid with another start is another process', () => {
  assert.equal(isProcessAlive(`${process.pid}:1`), false);
  assert.equal(isProcessAlive('not a process'), false);
});
