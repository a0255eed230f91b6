import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStream } from './memory.ts';
import { publisherContract } from './publisher.contract.ts';

publisherContract('the stream in memory', async () => {
  const stream = createMemoryStream();
  return {
    connect: stream.connect,
    stored: async () => stream.stored(),
    stop: async () => stream.stop(),
    stall: async () => stream.stall(),
    start: async () => stream.start(),
    clear: async () => stream.clear(),
  };
});

const event = (id: string) => ({ id, type: 'project.created' });

test('a stream with a limit drops its oldest events, and one with zero capacity still acknowledges', async () => {
  for (const [events_max, kept] of [
    [2, ['b', 'c']],
    [0, []],
  ] as const) {
    const stream = createMemoryStream({ events_max });
    assert.deepEqual(await stream.connect().publish(['a', 'b', 'c'].map(event)), { acknowledged: 3, error: null });
    assert.deepEqual(
      stream.stored().map(({ id }) => id),
      kept,
    );
  }
});

test('an injected failure refuses one event and holds back those behind it', async () => {
  const stream = createMemoryStream();
  stream.failAfter(2);
  const events = ['a', 'b', 'c', 'd'].map(event);
  const { acknowledged, error } = await stream.connect().publish(events);
  assert.deepEqual([acknowledged, error?.message], [2, 'The stream refused the event.']);
  assert.deepEqual(await stream.connect().publish(events.slice(2)), { acknowledged: 2, error: null });
  assert.deepEqual(stream.stored(), events);
});
