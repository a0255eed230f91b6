import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { limitRefusal } from '@gpuaas/contract';
import Fastify from 'fastify';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import { createStreams, sendStream } from './stream.ts';

/** One item, then none until the stream is ended. */
const followed = (): AsyncIterable<object> => {
  const ended = Promise.withResolvers<IteratorResult<object>>();
  let told = false;
  const iterator: AsyncIterableIterator<object> = {
    next: async () => {
      if (told) return ended.promise;
      told = true;
      return { done: false, value: { id: 'evt_1' } };
    },
    return: async () => {
      const end = { done: true, value: undefined } as const;
      ended.resolve(end);
      return end;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
};

type Caller = Parameters<typeof sendStream>[3];

const open = async (t: TestContext, format: string, given: Partial<Caller>, items = followed()) => {
  const caller = {
    stillAllowed: async () => true,
    whenClosing,
    problemOf: (err: AppError) => ({ code: err.code }),
    ...given,
  };
  const app = Fastify();
  t.after(() => app.close());
  app.get('/', (_request, reply) => sendStream(reply, format, items, caller));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error('the answer has no body');
  let text = '';
  while (!text.includes('evt_1')) text += (await reader.read()).value ?? '';
  return {
    app,
    rest: async () => {
      for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value;
      return text;
    },
  };
};

const never = new AbortController().signal;
const { whenClosing } = createStreams(never, 1);

it('an event stream ends when the process stops', async (t) => {
  const stop = new AbortController();
  const { whenClosing } = createStreams(stop.signal, 1);
  const stream = await open(t, 'text/event-stream', { stillAllowed: async () => true, whenClosing });
  stop.abort();
  // Without the client's help, which would keep its connection for the next request.
  await stream.app.close();
  assert.match(await stream.rest(), /evt_1/);
});

it('an event stream ends for a caller who lost access', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const stream = await open(t, 'text/event-stream', { stillAllowed: async () => false, whenClosing });
  t.mock.timers.tick(15_000);
  assert.match(await stream.rest(), /evt_1/);
});

it('a list breaks off for a caller who lost access, and does not look complete', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const stream = await open(t, 'application/jsonl', { stillAllowed: async () => false, whenClosing });
  t.mock.timers.tick(15_000);
  await assert.rejects(stream.rest());
});

it('an event stream that cannot continue says why before it ends', async (t) => {
  const items = (async function* () {
    yield { id: 'evt_1' };
    throw new AppError('gone', REFUSALS.events_restored);
  })();
  const stream = await open(t, 'text/event-stream', {}, items);
  assert.ok((await stream.rest()).endsWith('\n\nevent: problem\ndata: {"code":"gone"}\n\n'));
});

it('a caller has at most 32 open streams, and others still get theirs', () => {
  const streams = createStreams(never, 100);
  const closers = Array.from({ length: 32 }, () => streams.open('usr_a', 'org_a'));
  assert.throws(
    () => streams.open('usr_a', 'org_a'),
    (err: unknown) => err instanceof AppError && err.code === 'rate_limited',
  );
  streams.open('usr_b', 'org_a')();
  closers.pop()?.();
  streams.open('usr_a', 'org_a');
});

it('an organization has a limited number of streams across its callers, and others still get theirs', () => {
  const streams = createStreams(never, 3);
  const closers = ['sva_a', 'sva_b', 'sva_c'].map((caller) => streams.open(caller, 'org_a'));
  assert.throws(() => streams.open('sva_d', 'org_a'), { code: 'rate_limited', message: limitRefusal('streams', 3) });
  streams.open('sva_d', 'org_b')();
  streams.open('usr_operator', null)();
  closers.pop()?.();
  streams.open('sva_d', 'org_a');
  assert.throws(() => streams.open('sva_e', 'org_a'), { code: 'rate_limited' });
});
