/** The guarantees of `publisher.ts` as tests, for the real stream and for its fake. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { OutgoingEvent, Published, Publisher } from './publisher.ts';

/** A separate stream for each case, and its faults. */
export type StreamUnderTest = Readonly<{
  /** A publisher that waits this long for an acknowledgement. */
  connect(options: Readonly<{ timeout_ms: number }>): Publisher;
  /** What the stream holds, in its order. */
  stored(): Promise<readonly unknown[]>;
  stop(): Promise<void>;
  stall(): Promise<void>;
  start(): Promise<void>;
  clear(): Promise<void>;
}>;

/** Long enough for an acknowledgement on a slow host. */
const PATIENT_MS = 30_000;
const HASTY_MS = 300;

const eventsOf = (name: string, count: number): OutgoingEvent[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `${name}-${n}`,
    type: n % 2 === 0 ? 'project.created' : 'project.updated',
    data: { n, text: 'ümlaut "quoted" \\ \u{1f4a5}', nothing: null },
  }));

const all = (events: readonly OutgoingEvent[]): Published => ({ acknowledged: events.length, error: null });

/** As the relay does: again from the first that was not acknowledged. */
const publishUntilStored = async (publisher: Publisher, events: readonly OutgoingEvent[]): Promise<void> => {
  let done = 0;
  for (let round = 0; done < events.length; round++) {
    assert.ok(round < 50, `${events.length - done} events are still not stored`);
    done += (await publisher.publish(events.slice(done))).acknowledged;
  }
};

export const publisherContract = (
  name: string,
  start: (t: TestContext) => Promise<StreamUnderTest>,
  skip: string | false = false,
): void => {
  describe(`${name} is a publisher`, { skip }, () => {
    const given = async (t: TestContext, timeout_ms = PATIENT_MS) => {
      const stream = await start(t);
      const publisher = stream.connect({ timeout_ms });
      t.after(() => publisher.close());
      return { stream, publisher };
    };

    test('events are stored unchanged, in the given order', async (t) => {
      const { stream, publisher } = await given(t);
      const [first, second] = [eventsOf('a', 60), eventsOf('b', 3)];
      assert.deepEqual(await publisher.publish(first), all(first));
      assert.deepEqual(await publisher.publish(second), all(second));
      assert.deepEqual(await stream.stored(), [...first, ...second]);
    });

    test('an empty batch stores nothing', async (t) => {
      const { stream, publisher } = await given(t);
      assert.deepEqual(await publisher.publish([]), all([]));
      assert.deepEqual(await stream.stored(), []);
    });

    test('an event that the stream holds is acknowledged and not stored again', async (t) => {
      const { stream, publisher } = await given(t);
      const events = eventsOf('a', 8);
      await publisher.publish(events.slice(0, 5));
      assert.deepEqual(await publisher.publish(events.slice(0, 5)), all(events.slice(0, 5)));
      const overlapping = events.slice(3);
      assert.deepEqual(await publisher.publish(overlapping), all(overlapping));
      assert.deepEqual(await stream.stored(), events);
    });

    test('two publishers share the stream, and closing one does not affect the other', async (t) => {
      const { stream, publisher } = await given(t);
      const other = stream.connect({ timeout_ms: PATIENT_MS });
      const [mine, theirs, rest] = [eventsOf('a', 2), eventsOf('b', 2), eventsOf('c', 2)];
      await publisher.publish(mine);
      await other.publish(theirs);
      await other.close();
      await other.close();
      assert.deepEqual(await publisher.publish(rest), all(rest));
      assert.deepEqual(await stream.stored(), [...mine, ...theirs, ...rest]);
    });

    test('an outage is an error and no exception, and the same publisher continues after it', async (t) => {
      const { stream, publisher } = await given(t);
      const events = eventsOf('a', 6);
      await publisher.publish(events.slice(0, 2));
      await stream.stop();
      for (let n = 0; n < 3; n++) {
        const { acknowledged, error } = await publisher.publish(events.slice(2));
        assert.equal(acknowledged, 0);
        assert.ok(error instanceof Error && error.message !== '');
      }
      await stream.start();
      await publishUntilStored(publisher, events.slice(2));
      assert.deepEqual(await stream.stored(), events);
    });

    test('an outage in the middle of a batch keeps the acknowledged events, and the order', async (t) => {
      const { stream, publisher } = await given(t);
      const events = eventsOf('a', 1_000);
      await publisher.publish(events.slice(0, 1));
      const [{ acknowledged }] = await Promise.all([publisher.publish(events), stream.stop()]);
      await stream.start();
      const kept = await stream.stored();
      assert.ok(kept.length >= acknowledged, `${acknowledged} acknowledged, ${kept.length} stored`);
      assert.deepEqual(kept, events.slice(0, kept.length), 'nothing is missing in between');
      await publishUntilStored(publisher, events.slice(acknowledged));
      assert.deepEqual(await stream.stored(), events);
    });

    test('a stalled stream is an error after the timeout, and its late events are not stored twice', async (t) => {
      const { stream, publisher } = await given(t, HASTY_MS);
      const events = eventsOf('a', 5);
      await publishUntilStored(publisher, events.slice(0, 1));
      await stream.stall();
      const before = performance.now();
      const { acknowledged, error } = await publisher.publish(events);
      assert.ok(error instanceof Error);
      assert.ok(performance.now() - before < PATIENT_MS);
      await stream.start();
      await publishUntilStored(publisher, events.slice(acknowledged));
      assert.deepEqual(await stream.stored(), events);
    });

    test('a stream that lost its store continues with the next published event', async (t) => {
      const { stream, publisher } = await given(t);
      const [lost, next] = [eventsOf('a', 3), eventsOf('b', 3)];
      await publisher.publish(lost);
      await stream.clear();
      await publishUntilStored(publisher, next);
      assert.deepEqual(await stream.stored(), next);
    });
  });
};
