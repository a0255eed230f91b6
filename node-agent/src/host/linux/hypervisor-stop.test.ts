import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuses } from '../contract/subject.ts';
import type { Domain } from '../host.ts';
import { requestShutdown } from './hypervisor-stop.ts';

/** A guest OS that shuts down at a given time, behind a libvirt with its own delay per call. */
const guestThat = (given: Readonly<{ down_at?: number; answers_in?: number }>) => {
  const clock = { ms: 0 };
  const asked: number[] = [];
  const controller = new AbortController();
  const answer = <T>(value: () => T): Promise<T> => {
    clock.ms += given.answers_in ?? 0;
    return Promise.resolve(value());
  };
  const stateNow = (): Domain['state'] =>
    clock.ms >= (given.down_at ?? Number.POSITIVE_INFINITY) ? 'shut_off' : 'running';
  const asking = {
    now: () => clock.ms,
    rest: async (ms: number) => {
      clock.ms += ms;
    },
    signal: controller.signal,
    virsh: {
      request: () => answer(() => asked.push(clock.ms) > 0),
      state: () => answer(stateNow),
    },
  };
  return { asking, asked, clock, controller };
};

test('a guest OS is asked to shut down every few seconds until it is off', async () => {
  const { asking, asked, clock } = guestThat({ down_at: 12_000 });
  assert.equal(await requestShutdown(asking, 'uuid', 30), true);
  assert.deepEqual(asked, [0, 5_000, 10_000]);
  assert.equal(clock.ms, 12_000);
});

test('the response time of libvirt counts toward the grace period of the guest OS', async () => {
  const { asking, clock } = guestThat({ answers_in: 4_000 });
  assert.equal(await requestShutdown(asking, 'uuid', 30), false);
  assert.ok(clock.ms < 40_000, `${clock.ms} ms went by`);
});

test('without a grace period the guest OS is not asked to shut down', async () => {
  const { asking, asked } = guestThat({});
  assert.equal(await requestShutdown(asking, 'uuid', 0), false);
  assert.deepEqual(asked, []);
});

test('an aborted caller ends the shutdown requests, and nothing is powered off', async () => {
  const { asking, asked, controller } = guestThat({});
  controller.abort();
  await refuses(requestShutdown(asking, 'uuid', 30), 'timeout');
  assert.deepEqual(asked, [0]);
});
