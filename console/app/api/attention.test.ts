import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchAttention } from './attention.ts';

test('a page is idle after two minutes without user input and active again at the next input', () => {
  const page = new EventTarget();
  let now = 0;
  const attention = watchAttention(page, () => now);
  now = 120_000;
  assert.equal(attention.isLeft(), false, 'any visitor has touched it');
  now += 1;
  assert.equal(attention.isLeft(), true);
  for (const name of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart']) {
    page.dispatchEvent(new Event(name));
    assert.equal(attention.isLeft(), false, name);
    now += 120_001;
    assert.equal(attention.isLeft(), true, name);
  }
  page.dispatchEvent(new Event('message'));
  assert.equal(attention.isLeft(), true, 'events from elsewhere are no visitor');
});
