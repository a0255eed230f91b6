import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { allocation, provisioning, releasing } from '../golden/fixtures-allocation.ts';
import { entries } from '../golden/fixtures-placement.ts';
import { beginLine, createSteps, finishedLine, finishedSteps, liveLine } from './steps.ts';

const { progress } = provisioning;
assert.ok(progress);
const AFTER_12_S = Date.parse(progress.started_at) + 12_000;
const at = (more: Partial<typeof progress>): Allocation => ({ ...provisioning, progress: { ...progress, ...more } });

/** A stream that records what was written. */
const screen = (isTTY: boolean) => {
  let text = '';
  const stream = {
    isTTY,
    columns: 80,
    write: (chunk: string) => {
      text += chunk;
      return true;
    },
  };
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => text };
};

test('the line of a step shows progress, speed, elapsed and expected time', () => {
  assert.equal(liveLine(progress, AFTER_12_S), 'Copy image          [#####.......] 40 %  1.3 GB/s  12s of ~34s  2/5');
  const bare = { ...progress, percent: null, bytes_per_s: null, expected_s: null };
  assert.equal(liveLine(bare, AFTER_12_S), 'Copy image          12s  2/5');
  assert.equal(liveLine({ ...bare, note: 'half' }, AFTER_12_S), 'Copy image          12s  2/5  half');
  assert.equal(beginLine(bare), '- Copy image, step 2 of 5');
  for (const [bytes, words] of [
    [0, '0 B/s'],
    [900, '900 B/s'],
    [120_000_000, '120 MB/s'],
  ] as const)
    assert.ok(liveLine({ ...progress, bytes_per_s: bytes }, AFTER_12_S).includes(` ${words} `));
  const long = { ...progress, label: 'A label of 18 chars', percent: 100, bytes_per_s: 999_000_000, expected_s: 150 };
  assert.ok(liveLine(long, AFTER_12_S + 60_000).length <= 77, 'it fits a terminal of 80 columns');
});

test('a completed step is one line with its total duration', () => {
  assert.deepEqual(finishedSteps(entries).map(finishedLine), [
    '✓ Reserve GPUs        under 1s',
    '✓ Copy image          12s',
    '✓ Start VM            2s',
    '✓ Wait for SSH        27s',
    '✓ Activate            under 1s',
  ]);
  assert.deepEqual(finishedSteps(entries.slice(0, 2)).length, 1, 'the copy still goes on');
});

test('a stuck step shows its reason', () => {
  const stuck = entries
    .slice(0, 3)
    .map((entry) => ({ ...entry, outcome: 'stuck' as const, detail: 'It did not work.' }));
  assert.equal(finishedSteps(stuck).map(finishedLine).at(-1), '✗ Copy image          12s  It did not work.');
});

test('on a terminal the running step updates in place and is cleared at the end', async () => {
  const { stream, text } = screen(true);
  const timelines: (readonly TimelineEntry[])[] = [entries.slice(0, 2), entries];
  const steps = createSteps({
    stream,
    now: () => AFTER_12_S,
    describe: () => 'described',
    readTimeline: async () => timelines.shift() ?? [],
  });
  await steps.update(provisioning, false);
  await steps.update(at({ percent: 80 }), false);
  await steps.update(allocation, true);
  steps.end();
  const lines = text()
    .split('\r\u001b[2K')
    .filter((line) => line !== '');
  assert.deepEqual(lines.slice(0, 3), [
    '✓ Reserve GPUs        under 1s\n',
    `- ${liveLine(progress, AFTER_12_S)}`,
    `\\ ${liveLine({ ...progress, percent: 80 }, AFTER_12_S)}`,
  ]);
  assert.equal(lines.at(-1), '✓ Activate            under 1s\n');
  assert.deepEqual(timelines, [], 'the timeline is read when a step ends, not at every look');
});

test('without a terminal each step prints one line when it starts', async () => {
  const { stream, text } = screen(false);
  const steps = createSteps({ stream, describe: ({ state }) => `it is ${state}` });
  await steps.update({ ...provisioning, progress: null }, false);
  await steps.update(provisioning, false);
  await steps.update(at({ percent: 80 }), false);
  await steps.update(allocation, true);
  steps.end();
  assert.equal(text(), 'it is provisioning\n- Copy image, step 2 of 5, about 34s\n');
});

test('a release after a launch does not repeat the steps of the launch', async () => {
  const { stream, text } = screen(false);
  const steps = createSteps({ stream, describe: () => '', readTimeline: async () => entries });
  const stop = { ...progress, workflow: 'release-allocation', step: 'stopRuntime', label: 'Stop workloads' };
  const first = { ...stop, step_number: 1, step_count: 3, expected_s: null };
  await steps.update({ ...releasing, progress: first }, false);
  await steps.update(
    { ...releasing, progress: { ...first, step: 'wipe', label: 'Wipe disks', step_number: 2 } },
    false,
  );
  steps.end();
  assert.equal(text(), '- Stop workloads, step 1 of 3\n- Wipe disks, step 2 of 3\n');
});

test('text from the server cannot move the cursor', () => {
  assert.equal(beginLine({ ...progress, label: 'a\u001b[2Jb' }), '- ab, step 2 of 5, about 34s');
});
