import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../errors.ts';
import { createNodeLimits } from './limits.ts';

const entry = (more: object = {}) => ({ node_id: 'nod_a', is_poll: false, bytes: 100, now_ms: 0, ...more });
const after = (seconds: number) => (err: unknown) =>
  err instanceof AppError && err.code === 'rate_limited' && err.details.retry_after_s === seconds;

describe('what one node may ask', () => {
  it('a node that used its allowance is told when to come back, and others are not', () => {
    const limits = createNodeLimits(60);
    for (let n = 0; n < 60; n++) limits.enter(entry())();
    assert.throws(() => limits.enter(entry()), after(1));
    limits.enter(entry({ node_id: 'nod_b' }))();
    limits.enter(entry({ now_ms: 1000 }))();
    assert.throws(() => limits.enter(entry({ now_ms: 1000 })), after(1));
  });

  it('a large body is let in and paid off afterwards', () => {
    const limits = createNodeLimits(60);
    limits.enter(entry({ bytes: 8 * 1024 * 1024 }))();
    assert.throws(() => limits.enter(entry()), after(70));
    limits.enter(entry({ now_ms: 70_000 }))();
  });

  it('eight requests and one poll beside the one it replaces are under way at a time', () => {
    const limits = createNodeLimits(1000);
    const leave = Array.from({ length: 8 }, () => limits.enter(entry()));
    assert.throws(() => limits.enter(entry()), after(1));
    const rest = limits.enter(entry({ is_poll: true }));
    limits.enter(entry({ is_poll: true }));
    assert.throws(() => limits.enter(entry({ is_poll: true })), after(1));
    // Ended twice is ended once.
    rest();
    rest();
    limits.enter(entry({ is_poll: true }));
    assert.throws(() => limits.enter(entry({ is_poll: true })), after(1));
    leave[0]?.();
    limits.enter(entry());
    assert.throws(() => limits.enter(entry()), after(1));
  });
});
