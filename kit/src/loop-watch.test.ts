import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLoopWatch, reportProgress } from './loop-watch.ts';

const LIMIT_MS = 100;

const setting = (every_ms: number) => {
  let time = 0;
  const watch = createLoopWatch(() => time);
  const loop = watch.add('sweep', every_ms);
  return {
    watch,
    loop,
    pass: (ms: number) => {
      time += ms;
    },
    stalled: () => watch.stalled(LIMIT_MS).map((one) => one.loop),
  };
};

it('a turn that does not end is stalled after the limit; one that reports progress is not', async () => {
  const { loop, pass, stalled, watch } = setting(5_000);
  const steps: (() => void)[] = [];
  const turn = loop.turn(async () => {
    for (let batch = 0; batch < 2; batch++) {
      await new Promise<void>((resolve) => steps.push(resolve));
      reportProgress();
    }
  });
  pass(LIMIT_MS);
  assert.deepEqual(stalled(), []);
  steps.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  pass(LIMIT_MS);
  assert.deepEqual(stalled(), [], 'the first batch was a sign');
  pass(1);
  assert.deepEqual(stalled(), ['sweep']);
  assert.deepEqual(watch.ages(), [{ loop: 'sweep', overdue_ms: LIMIT_MS + 1 }]);
  steps.shift()?.();
  await turn;
  assert.deepEqual(stalled(), [], 'recovered');
});

it('between turns a loop may pause; a pause that never ends is stalled', async () => {
  const { loop, pass, stalled, watch } = setting(5_000);
  await loop.turn(async () => {});
  pass(5_000);
  assert.deepEqual(watch.ages(), [{ loop: 'sweep', overdue_ms: 0 }], 'its pause is no silence');
  pass(LIMIT_MS);
  assert.deepEqual(watch.ages(), [{ loop: 'sweep', overdue_ms: LIMIT_MS }]);
  assert.deepEqual(stalled(), []);
  pass(1);
  assert.deepEqual(stalled(), ['sweep']);
});

it('a failed turn is a sign of life and passes its error on', async () => {
  const { loop, pass, stalled } = setting(0);
  pass(LIMIT_MS + 1);
  assert.deepEqual(stalled(), ['sweep']);
  await assert.rejects(
    loop.turn(async () => {
      throw new Error('refused');
    }),
    /refused/,
  );
  assert.deepEqual(stalled(), []);
});

it('a loop that ended is not watched, and progress outside a turn does nothing', () => {
  const { loop, pass, stalled } = setting(0);
  loop.end();
  pass(1_000);
  reportProgress();
  assert.deepEqual(stalled(), []);
});
