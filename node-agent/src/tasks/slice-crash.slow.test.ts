/**
 * The agent dies between any two operations of a task, before or after the operation had its effect, and a new process
 * repeats the task. Whatever the moment, the end state is that of an uninterrupted task.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TaskSlot } from '@gpuaas/contract/node';
import { IMAGE, leaseOf, of, openTestHost, startOf, type TestHost } from '../../test/slice.ts';
import type { Host } from '../host/host.ts';
import { readLeases } from '../leases.ts';
import type { TaskContext } from './task.ts';

class Died extends Error {}

/** Counts operations; dies at one of them and does not respond any more. Its open disks are closed. */
const dyingHost = (host: Host, at: number, isAfter: boolean) => {
  let count = 0;
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, key, receiver) => {
        const value: unknown = Reflect.get(target, key, receiver);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          count += 1;
          if (count > at || (count === at && !isAfter)) throw new Died();
          const answer: unknown = await Reflect.apply(value, target, given.map(unwrap));
          if (count >= at) throw new Died();
          return key === 'open' ? remember(wrap(answer as object), answer as object) : answer;
        };
      },
    });
  const originals = new WeakMap<object, object>();
  const remember = (wrapped: object, original: object): object => {
    originals.set(wrapped, original);
    return wrapped;
  };
  const unwrap = (value: unknown): unknown =>
    typeof value === 'object' && value ? (originals.get(value) ?? value) : value;
  const parts = ['pci', 'disks', 'images', 'hypervisor', 'network', 'fabric', 'gpu', 'system'] as const;
  const dying = { ...host, ...Object.fromEntries(parts.map((part) => [part, wrap(host[part])])) } as Host;
  return { host: dying, count: () => count };
};

type Step = Readonly<{
  name: string;
  run(host: TestHost, slots: readonly TaskSlot[], ctx: Partial<TaskContext>): Promise<unknown>;
}>;

const STEPS: readonly Step[] = [
  { name: 'slice.bundle_lease', run: (host, slots, ctx) => host.run('slice.bundle_lease', leaseOf(slots), ctx) },
  {
    name: 'slice.image_clone',
    run: (host, slots, ctx) => host.run('slice.image_clone', { ...of(slots), image: IMAGE }, ctx),
  },
  { name: 'slice.vm_start', run: (host, slots, ctx) => host.run('slice.vm_start', startOf(slots), ctx) },
  { name: 'slice.vm_readiness', run: (host, slots, ctx) => host.run('slice.vm_readiness', of(slots), ctx) },
  { name: 'slice.vm_stop', run: (host, slots, ctx) => host.run('slice.vm_stop', { ...of(slots), grace_s: 1 }, ctx) },
  { name: 'slice.cleanup', run: (host, slots, ctx) => host.run('slice.cleanup', of(slots), ctx) },
];

const root = mkdtempSync(join(tmpdir(), 'gpuaas-crash-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** The state that a run leaves, without times. */
const endOf = async (host: TestHost): Promise<string> => {
  const { drivers, active_partitions, domains, ports } = host.sim.state();
  const { leases, generations } = await readLeases(host.state);
  return JSON.stringify({
    drivers: Object.entries(drivers).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    active_partitions,
    domains: domains.map((domain) => ({ ...domain, started_at: domain.started_at !== null })),
    ports,
    bytes: await host.hashes(),
    generations,
    leases: leases.map((lease) => ({
      ...lease,
      taken_at: null,
      expires_at: null,
      touched_at: lease.touched_at !== null,
      cleaning_since: lease.cleaning_since !== null,
    })),
  });
};

const copyTo = (from: string, name: string): TestHost => {
  const dir = join(root, name);
  rmSync(dir, { recursive: true, force: true });
  cpSync(from, dir, { recursive: true });
  return openTestHost(dir);
};

test('a task interrupted at any operation and repeated ends in the same state', async (t) => {
  let base = openTestHost(join(root, 'begin'));
  const slots = await base.slots([0, 1]);
  for (const step of STEPS)
    await t.test(step.name, async () => {
      const whole = copyTo(base.dir, `${step.name}-whole`);
      const counted = dyingHost(whole.sim, Number.POSITIVE_INFINITY, false);
      await step.run(whole, slots, { host: counted.host });
      const expected = await endOf(whole);
      let interrupted = 0;
      for (let at = 1; at <= counted.count(); at += 1)
        for (const isAfter of [false, true]) {
          const first = copyTo(base.dir, 'again');
          const dying = dyingHost(first.sim, at, isAfter);
          await assert.rejects(step.run(first, slots, { host: dying.host }), Died);
          interrupted += 1;
          const second = openTestHost(first.dir);
          await step.run(second, slots, {});
          assert.equal(await endOf(second), expected, `at operation ${at}, ${isAfter ? 'after' : 'before'} its effect`);
        }
      assert.equal(interrupted, 2 * counted.count());
      assert.ok(interrupted > 0);
      base = whole;
    });
});

test('a task executed twice ends in the same state as one executed once', async () => {
  let base = openTestHost(join(root, 'twice'));
  const slots = await base.slots([2]);
  for (const step of STEPS) {
    await step.run(base, slots, {});
    const once = await endOf(base);
    base = openTestHost(base.dir);
    await step.run(base, slots, {});
    assert.equal(await endOf(base), once, step.name);
  }
});
