import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declared } from '../../server/test/declared.ts';
import { changedVersions, workflowsText } from './workflows.ts';

const recorded = 'other 1: one\ntoy 1: one two\n';

const other = declared('other', ['one']);

test('steps of a recorded version that are added, removed or renamed are found, and a new version is not', () => {
  const toy = declared('toy', ['two', 'one']);
  assert.deepEqual(changedVersions(recorded, [other, toy]), []);
  const added = [declared('toy', ['one', 'two', 'three'], 2), declared('new', ['a'])];
  assert.deepEqual(changedVersions(recorded, [other, toy, ...added]), []);
  for (const steps of [['one'], ['one', 'two', 'three'], ['one', 'zwei']]) {
    const [found] = changedVersions(recorded, [other, declared('toy', steps)]);
    assert.match(
      found ?? '',
      /^toy version 1 is recorded with other steps\.\n {2}recorded: one two\n.*\nLive runs .* add a version and keep this one/,
    );
  }
});

test('a recorded version that is replaced by a newer one or removed is found', () => {
  for (const workflows of [[other, declared('toy', ['one', 'three'], 2)], [other]]) {
    const found = changedVersions(recorded, workflows);
    assert.equal(found.length, 1);
    assert.match(found[0] ?? '', /^toy version 1 is recorded and no longer declared\. .* keep its declaration/);
  }
});

test('the document has a row for every step, with its label and its host task', () => {
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
    '| `work` | Work *(off path)* | `slice.vm_stop` | 7 s |',
    '| `both` | Both | `slice.cleanup`; bare metal `node.cleanup` | 1 s |',
  ])
    assert.ok(text.includes(`\n${row}\n`), row);
});
