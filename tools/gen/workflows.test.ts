import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declared } from '../../server/test/declared.ts';
import { changedVersions, workflowsText } from './workflows.ts';

const recorded = 'other 1: one\ntoy 1: one two\n';

test('steps of a recorded version that are added, removed or renamed are found, and a new version is not', () => {
  assert.deepEqual(changedVersions(recorded, [declared('toy', ['two', 'one'])]), []);
  assert.deepEqual(
    changedVersions(recorded, [declared('toy', ['one', 'two', 'three'], 2), declared('new', ['a'])]),
    [],
  );
  for (const steps of [['one'], ['one', 'two', 'three'], ['one', 'zwei']]) {
    const [found] = changedVersions(recorded, [declared('toy', steps)]);
    assert.match(
      found ?? '',
      /^toy version 1 is recorded with other steps\.\n {2}recorded: one two\n.*\nLive runs .* raise its version/,
    );
  }
});

test('the document has a row for every step, with its words and its host task', () => {
  const { steps, ...toy } = declared('toy', ['one']);
  const text = workflowsText([
    {
      ...toy,
      steps: {
        ...steps,
        work: {
          label: 'Work',
          usual_s: 7,
          task: 'slice.vm_stop',
          doing: 'Working.',
          failed: 'Failed.',
          is_off_path: true,
        },
        both: {
          label: 'Both',
          usual_s: 1,
          task: { gpu_slice: 'slice.cleanup', baremetal: 'node.cleanup' },
          doing: 'Working.',
          failed: 'Failed.',
        },
      },
    },
  ]);
  for (const row of [
    '| `one` | one | – | – |',
    '| `work` | Work *(aside)* | `slice.vm_stop` | 7 s |',
    '| `both` | Both | `slice.cleanup`; bare metal `node.cleanup` | 1 s |',
  ])
    assert.ok(text.includes(`\n${row}\n`), row);
});
