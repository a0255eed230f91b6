import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { until } from '../../test/until.ts';
import { createRecorder } from './recording.ts';

it('a recording at its size limit reports it once and stores nothing more', async () => {
  const bytes_max = 256 * 1024;
  let kept = 0;
  let full = 0;
  const recorder = createRecorder({
    ...{ cols: 80, rows: 24, nowMs: () => 0, bytes_max },
    keep: async (_, content) => {
      kept += content.length;
    },
    onBehind: () => undefined,
    onFailure: (err) => assert.fail(String(err)),
    onFull: () => {
      full += 1;
    },
  });
  await until('it is full', () => {
    recorder.output(Buffer.from(randomBytes(24 * 1024).toString('base64')));
    return full > 0;
  });
  for (let at = 0; at < 100; at++) recorder.resize(100, 30);
  await recorder.end();
  assert.equal(full, 1);
  assert.ok(kept > bytes_max && kept < 2 * bytes_max, `${kept} bytes are kept`);
});
