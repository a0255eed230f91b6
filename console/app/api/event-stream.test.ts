import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Client, GpuaasError } from '@gpuaas/sdk';
import { followEvents } from './event-stream.ts';

type Options = Readonly<{ signal: AbortSignal; onOpen(): void; onReconnect(): void }>;

/** A server whose connections the test opens, interrupts and feeds; `open` counts the open ones. */
const aServer = () => {
  const connections: { options: Options; give(type: string): void }[] = [];
  async function* eventStream(_: unknown, options: Options) {
    const waiting: string[] = [];
    let wake = (): void => undefined;
    connections.push({
      options,
      give: (type) => {
        waiting.push(type);
        wake();
      },
    });
    options.onOpen();
    try {
      for (;;) {
        const type = waiting.shift();
        if (type !== undefined) yield { type };
        else
          await new Promise<void>((resolve, reject) => {
            wake = resolve;
            options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true });
          });
      }
    } finally {
      connections.shift();
    }
  }
  return { connections, client: { eventStream } as unknown as Client };
};

const aTab = (client: Client, scope: string, retries = false) => {
  const said: string[] = [];
  const watch = new EventTarget();
  const say = (text: string): void => {
    said.push(text);
    watch.dispatchEvent(new Event('said'));
  };
  const leave = followEvents(client, scope, {
    onState: (state) => say(state),
    onEvent: (type) => say(`event ${type}`),
    onMissed: () => say('missed'),
    onRefused: (err) => {
      say(`refused ${String(err)}`);
      return retries;
    },
  });
  const hears = async (text: string): Promise<void> => {
    while (!said.includes(text)) await once(watch, 'said');
    said.splice(0, said.indexOf(text) + 1);
  };
  return { hears, leave, said };
};

test('one tab reads the stream for all tabs, and another takes over when it closes', { timeout: 10_000 }, async () => {
  const { client, connections } = aServer();
  const first = aTab(client, 'prj_take_over');
  await first.hears('live');
  const second = aTab(client, 'prj_take_over');
  await second.hears('live');
  assert.equal(connections.length, 1);
  connections[0]?.give('allocation.changed');
  await Promise.all([first.hears('event allocation.changed'), second.hears('event allocation.changed')]);

  first.leave();
  await second.hears('missed');
  assert.equal(connections.length, 1);
  connections[0]?.give('node.changed');
  await second.hears('event node.changed');
  second.leave();
});

test('every tab shows when the stream is interrupted and when it is back, also without events', {
  timeout: 10_000,
}, async () => {
  const { client, connections } = aServer();
  const [first, second] = [aTab(client, 'prj_interrupted'), aTab(client, 'prj_interrupted')];
  await Promise.all([first.hears('live'), second.hears('live')]);
  connections[0]?.options.onReconnect();
  await Promise.all([first.hears('reconnecting'), second.hears('reconnecting')]);
  connections[0]?.options.onOpen();
  await Promise.all([first.hears('live'), second.hears('missed')]);
  await Promise.all([first.hears('missed'), second.hears('live')]);
  first.leave();
  second.leave();
});

test('after a stream that cannot continue, a tab opens a new one from now and reads its data again', {
  timeout: 10_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const opened: Options[] = [];
  async function* eventStream(_: unknown, options: Options) {
    opened.push(options);
    options.onOpen();
    yield { type: `event.${opened.length}` };
    if (opened.length === 1) throw new GpuaasError('gone', 'The events after that ID are no longer available.');
    await once(options.signal, 'abort');
  }
  const tab = aTab({ eventStream } as unknown as Client, 'prj_gone', true);
  await tab.hears('event event.1');
  await tab.hears('refused GpuaasError: The events after that ID are no longer available.');
  t.mock.timers.tick(5_000);
  await tab.hears('missed');
  await tab.hears('event event.2');
  assert.ok(opened.every((options) => !('lastEventId' in options)));
  tab.leave();
});

test('an event stream that the server refuses for good is reported and not opened again', {
  timeout: 10_000,
}, async (t) => {
  const refuse = t.mock.fn(() => {
    throw new Error('unauthenticated');
  });
  const tab = aTab({ eventStream: refuse } as unknown as Client, 'prj_refused');
  await tab.hears('reconnecting');
  await tab.hears('refused Error: unauthenticated');
  await navigator.locks.request('gpuaas-events-prj_refused', () => undefined);
  assert.equal(refuse.mock.callCount(), 1, 'the reader has given up its place');
  tab.leave();
});

test('an organization is followed by its own stream', {
  timeout: 10_000,
}, async () => {
  const asked: unknown[] = [];
  async function* organizationEventStream(request: unknown, options: Options) {
    asked.push(request);
    options.onOpen();
    yield { type: 'quota.decided' };
    await once(options.signal, 'abort');
  }
  const tab = aTab({ organizationEventStream } as unknown as Client, 'org_followed');
  await tab.hears('event quota.decided');
  assert.deepEqual(asked, [{ params: { organization_id: 'org_followed' } }]);
  tab.leave();
});
