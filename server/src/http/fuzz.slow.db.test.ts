import assert from 'node:assert/strict';
import { operations } from '../../test/request.ts';
import { storm } from '../../test/storm.ts';

await storm({
  requests: 10_500,
  judge: (succeeded) => {
    const silent = operations.map(([id]) => id).filter((id) => !succeeded.has(id));
    assert.ok(silent.length < operations.length / 5, `never succeeded: ${silent}`);
  },
});
