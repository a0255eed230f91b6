import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../errors.ts';
import { createNodeLimits } from './limits.ts';

const entry = (more: object = {}) => ({ node_id: 'nod_a', is_poll: false, bytes: 100, now_ms: 0, ...more });
const after = (seconds: number) => (err: unknown) =>
  err instanceof AppError && err.code === 'rate_limited' && err.details.retry_after_s === seconds;

describe('limits of one node', () => {
  it('a node without allowance gets a retry time, and others do not', () => {
    const limits = createNodeLimits(60);
    for (let n = 0; n < 60; n++) limits.enter(entry())();
    assert.throws(() => limits.enter(entry()), after(1));
    limits.enter(entry({ node_id: 'nod_b' }))();
    limits.enter(entry({ now_ms: 1000 }))();
    assert.throws(() => limits.enter(entry({ now_ms: 1000 })), after(1));
  });

  it('a large body is accepted and charged afterwards', () => {
    const limits = createNodeLimits(60);
    limits.enter(entry({ bytes: 8 * 1024 * 1024 }))();
    assert.throws(() => limits.enter(entry()), after(70));
    limits.enter(entry({ now_ms: 70_000 }))();
  });

  it('eight requests, one poll and its replacement run at a time', () => {
    const limits = createNodeLimits(1000);
    const leave = Array.from({ length: 8 }, () => limits.enter(entry()));
    assert.throws(() => limits.enter(entry()), after(1));
    const rest = limits.enter(entry({ is_poll: true }));
    limits.enter(entry({ is_poll: true }));
    assert.throws(() => limits.enter(entry({ is_poll: true })), after(1));
    // Ending twice has the effect of once.
    rest();
    rest();
    limits.enter(entry({ is_poll: true }));
    assert.throws(() => limits.enter(entry({ is_poll: true })), after(1));
    leave[0]?.();
    limits.enter(entry());
    assert.throws(() => limits.enter(entry()), after(1));
  });
});
