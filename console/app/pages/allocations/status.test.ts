import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocation } from '@gpuaas/sdk';
import { costNow, endWords, pricePerHour } from './cost.ts';
import { failureWords, reportLink } from './failure.ts';
import { AT, allocation, entry, later, NOW, progress, step } from './fixture.ts';
import { briefly, inFull, stepWords, workNow, workSince, workTitle } from './progress.ts';
import { runsOf } from './timeline.ts';

describe('work in progress', () => {
  it('is a launch, a power change or a cleanup, also of a failed allocation, or nothing', () => {
    assert.equal(workNow(allocation({ state: 'requested' })), 'launch');
    assert.equal(workNow(allocation({ state: 'provisioning' })), 'launch');
    assert.equal(workNow(allocation({ state: 'releasing' })), 'cleanup');
    assert.equal(workNow(allocation()), null);
    const power = { ...allocation().power, state: 'stopping' } as Allocation['power'];
    assert.equal(workNow(allocation({ power })), 'power');
    assert.equal(workTitle(allocation({ power }), 'power'), 'Stopping the VM');
    assert.equal(workNow(allocation({ state: 'failed' })), null);
    const wiping = progress({ phase: 'cleanup' });
    assert.equal(workNow(allocation({ state: 'failed', progress: wiping })), 'cleanup');
  });

  it('is measured from the time of the request', () => {
    const given = allocation({ state: 'releasing', release_requested_at: later(60), state_since: later(61) });
    assert.equal(workSince(given, 'cleanup'), later(60));
    assert.equal(workSince(allocation({ state: 'provisioning', state_since: later(5) }), 'launch'), AT);
  });

  it('shows percent, speed, elapsed and expected time of the step, and when it is overdue', () => {
    const running = (over: Parameters<typeof progress>[0], seconds: number) =>
      stepWords(step(), progress(over), NOW + seconds * 1000);
    assert.equal(running({}, 12), '40 %, 2 GiB/s, 12 s so far, usually 40 s');
    assert.equal(
      running({ percent: null, bytes_per_s: null }, 90),
      '1 min 30 s so far, usually 40 s, longer than usual',
    );
    const bare = { percent: null, bytes_per_s: null, expected_s: null };
    assert.equal(running(bare, 3), '3 s so far');
    assert.equal(running({ ...bare, note: '1 of 2 disks wiped' }, 3), '3 s so far, 1 of 2 disks wiped');
    assert.equal(stepWords(step({ state: 'skipped' }), progress(), NOW), 'skipped');
    assert.equal(briefly(progress()), 'Copy image, 31%');
    assert.equal(inFull(progress()), 'Step 2 of 5, 31% complete');
  });
});

describe('cost', () => {
  it('grows with the price between two reads and never exceeds the charged amount', () => {
    assert.deepEqual(pricePerHour(allocation()), { amount_minor: 1200, currency: 'USD' });
    assert.equal(costNow(allocation(), NOW, NOW + 3_600_000).amount_minor, 1300);
    assert.equal(costNow(allocation(), NOW, NOW + 2_999).amount_minor, 100);
    assert.equal(costNow(allocation(), NOW, NOW - 5_000).amount_minor, 100);
  });

  it('does not grow before activation or after release', () => {
    const given = allocation({ release_requested_at: AT, state: 'releasing' });
    assert.equal(costNow(given, NOW, NOW + 3_600_000).amount_minor, 100);
    assert.equal(costNow(allocation({ activated_at: null }), NOW, NOW + 3_600_000).amount_minor, 100);
  });

  it('shows when the allocation ends, that it has no limit, or that it is protected', () => {
    const left = () => 'in 2 h';
    assert.equal(endWords(allocation(), left), 'in 2 h');
    assert.equal(endWords(allocation({ release_at: null }), left), 'no limit');
    assert.match(endWords(allocation({ is_protected: true }), left), /, protected/);
    assert.equal(endWords(allocation({ state: 'released', release_at: null }), left), '–');
  });
});

describe('a failure', () => {
  const stuck = entry({
    sequence: 4,
    step: 'awaitSsh',
    label: 'Wait for SSH',
    outcome: 'stuck',
    detail: 'No answer.',
    duration_ms: 5000,
  });

  it('shows what failed, that nothing was charged and what happens next', () => {
    const failed = allocation({
      state: 'failed',
      state_reason: 'The VM did not become ready',
      cost_so_far: { amount_minor: 0, currency: 'USD' },
    });
    const cleanup = entry({ phase: 'cleanup', step: 'wipe', label: 'Wipe disks', outcome: 'error' });
    const words = failureWords(failed, [entry(), stuck, cleanup]);
    assert.equal(words?.title, 'Launch failed');
    assert.equal(words?.cause, 'The VM did not become ready.');
    assert.match(words?.step ?? '', /“Wait for SSH” stopped on attempt 1 after 5.0 s/);
    assert.equal(words?.charged, 'No charges.');
    assert.match(words?.now ?? '', /unschedulable until the wipe is verified/);
    assert.match(failureWords({ ...failed, released_at: AT }, [])?.now ?? '', /available again/);
  });

  it('shows whether the cleanup after a failed launch is complete or blocked', () => {
    const failed = allocation({ state: 'failed', released_at: null });
    const proven = entry({ phase: 'cleanup', step: 'prove', outcome: 'done' });
    const now = (...steps: Parameters<typeof entry>[0][]) =>
      failureWords(failed, [stuck, ...steps.map(entry)])?.now ?? '';
    assert.match(now({ phase: 'cleanup', step: 'wipe', outcome: 'next' }), /until the wipe is verified/);
    assert.match(now(proven), /available again/);
    assert.match(now({ ...proven, outcome: 'stuck' }), /Cleanup is blocked/);
    assert.match(now({ ...proven, outcome: 'stuck' }, proven), /available again/);
  });

  it('shows the charge up to a blocked cleanup, and that the blocked time is free', () => {
    const words = failureWords(allocation({ state: 'release_failed' }), []);
    assert.match(words?.charged ?? '', /\$1\.00 charged.*Cleanup is not charged/);
    assert.match(words?.cause ?? '', /No reason was reported/);
  });

  it('is empty if nothing failed', () => assert.equal(failureWords(allocation(), [stuck]), null));

  it('can be reported with its correlation ID, and no value can break out of the link', () => {
    const link = reportLink(allocation({ state: 'failed', state_reason: 'a&b?c#d\nx' }));
    assert.ok(link.startsWith('mailto:?subject='));
    assert.equal(new URLSearchParams(link.slice('mailto:?'.length)).get('body')?.includes('cor_1'), true);
    assert.equal(link.split('&').length, 2);
  });
});

describe('the timeline', () => {
  it('is grouped by run: another workflow or restarted step numbers begin a new group', () => {
    const runs = runsOf([
      entry(),
      entry({ sequence: 2, step: 'cloneImage', outcome: 'error', finished_at: later(9) }),
      entry({ workflow: 'stop-slice', workflow_label: 'Stop', sequence: 1 }),
      entry({ workflow: 'stop-slice', workflow_label: 'Stop', sequence: 1 }),
    ]);
    assert.deepEqual(
      runs.map(({ title, entries, failures, duration_ms }) => [title, entries.length, failures, duration_ms]),
      [
        ['Launch', 2, 1, 9000],
        ['Stop', 1, 0, 2000],
        ['Stop', 1, 0, 2000],
      ],
    );
  });
});
