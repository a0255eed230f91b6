import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog, silentLog } from '@gpuaas/kit';
import { createEventHub } from '../ports/events/hub.ts';
import { startReconciler } from './reconciler.ts';

const collectingLog = () => {
  const messages: string[] = [];
  const log = createLog({
    service: 'test',
    host_role: 'platform_control',
    destination: { write: (line: string) => void messages.push((JSON.parse(line) as { message: string }).message) },
  });
  return { log, messages };
};

test('turns never overlap, and a wake-up during a turn starts the next one', async () => {
  const hub = createEventHub();
  let running = 0;
  let turns = 0;
  const enough = Promise.withResolvers<void>();
  const reconciler = startReconciler({
    name: 'test',
    intervalMs: 60_000,
    hub,
    log: silentLog(),
    signal: new AbortController().signal,
    run: async () => {
      running += 1;
      assert.equal(running, 1);
      turns += 1;
      if (turns === 3) enough.resolve();
      else hub.wake();
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    },
  });
  await enough.promise;
  await reconciler.stop();
  assert.equal(turns, 3);
});

test('wake-ups within the spacing of two turns are one turn, and stopping does not wait for it', async () => {
  const hub = createEventHub();
  let turns = 0;
  const reconciler = startReconciler({
    name: 'test',
    intervalMs: 60_000,
    spacingMs: 60_000,
    hub,
    log: silentLog(),
    signal: new AbortController().signal,
    run: async () => {
      turns += 1;
    },
  });
  for (let wakes = 0; wakes < 20; wakes++) {
    hub.wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reconciler.stop();
  assert.equal(turns, 1);
});

test('a failure is retried, and logged when it appears, changes and ends', async () => {
  const { log, messages } = collectingLog();
  const errors = ['down', 'down', 'still down'];
  const healed = Promise.withResolvers<void>();
  let turns = 0;
  const reconciler = startReconciler({
    name: 'test',
    intervalMs: 1,
    log,
    signal: new AbortController().signal,
    run: async () => {
      const message = errors[turns++];
      if (message !== undefined) throw new Error(message);
      if (turns > errors.length + 1) healed.resolve();
    },
  });
  await healed.promise;
  await reconciler.stop();
  assert.deepEqual(messages, ['reconciler failed; retrying', 'reconciler failed; retrying', 'reconciler recovered']);
});

test('stop waits for the current turn and no other starts', async () => {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let ended = 0;
  const reconciler = startReconciler({
    name: 'test',
    intervalMs: 1,
    log: silentLog(),
    signal: new AbortController().signal,
    run: async (signal) => {
      begun.resolve();
      await gate.promise;
      assert.equal(signal.aborted, true);
      ended += 1;
    },
  });
  await begun.promise;
  const stopped = reconciler.stop();
  assert.equal(ended, 0);
  gate.resolve();
  await stopped;
  assert.equal(ended, 1);
});
