import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { releaseRefusal } from './actions.ts';
import { hostKeyFingerprint } from './connect.ts';
import { bodyOf, formOf, problemsOf, updateFlags } from './edit.ts';
import { AT, allocation, later, NOW } from './fixture.ts';
import { filterOf, named, newestFirst } from './list.ts';
import { verdictWords } from './wipe.ts';

describe('available actions', () => {
  const refused = 'The allocation is protected. Remove the protection first.';

  it('a protected allocation can be released in two steps by a user who may unprotect and release', () => {
    const kept = allocation({ is_protected: true });
    assert.equal(releaseRefusal(kept, { release: refused, update: null, role: null }), null);
    assert.equal(releaseRefusal(kept, { release: refused, update: 'no', role: null }), 'no');
    assert.equal(releaseRefusal(kept, { release: 'viewer', update: null, role: 'viewer' }), 'viewer');
    assert.equal(
      releaseRefusal(allocation({ is_protected: true, state: 'releasing' }), {
        release: 'The allocation is being released.',
        update: null,
        role: null,
      }),
      'The allocation is being released.',
    );
  });
});

describe('an SSH host key', () => {
  it('has the fingerprint that ssh-keygen prints', async () => {
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl';
    assert.equal(await hostKeyFingerprint(key), 'SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU');
  });
  it('has no fingerprint if it is invalid', async () => {
    assert.equal(await hostKeyFingerprint('nonsense'), null);
    assert.equal(await hostKeyFingerprint('ssh-ed25519 %%%'), null);
  });
});

describe('an edit', () => {
  it('sends and shows only the changed fields', () => {
    const before = allocation({ tags: { team: 'vision', old: '1' } });
    assert.deepEqual(bodyOf(before, formOf(before)), {});
    const body = bodyOf(before, {
      name: 'train-2',
      tags: ['team=text', 'new=a=b'],
      isProtected: true,
      hours: '',
    });
    assert.deepEqual(body, {
      name: 'train-2',
      tags: { team: 'text', new: 'a=b' },
      is_protected: true,
      max_duration_s: null,
    });
    assert.deepEqual(
      updateFlags(before, body).filter(([, value]) => value !== undefined && value !== null && value !== false),
      [
        ['name', 'train-2'],
        ['tag', 'team=text'],
        ['tag', 'new=a=b'],
        ['untag', 'old'],
        ['protect', true],
        ['unlimited', true],
      ],
    );
  });

  it('keeps a maximum duration that cannot be expressed in whole hours', () => {
    const before = allocation({ max_duration_s: 1001 });
    assert.deepEqual(bodyOf(before, { ...formOf(before), isProtected: true }), { is_protected: true });
  });

  it('refuses names, tags and maximum durations that the API refuses, and times in the past', () => {
    const form = formOf(allocation());
    assert.deepEqual(problemsOf(form, AT, NOW), {});
    assert.ok(problemsOf({ ...form, name: '-A' }, AT, NOW).name);
    assert.ok(problemsOf({ ...form, tags: ['team'] }, AT, NOW).tags);
    assert.match(problemsOf({ ...form, tags: ['a=1', 'a=2'] }, AT, NOW).tags ?? '', /twice/);
    assert.ok(problemsOf({ ...form, hours: '0.01' }, AT, NOW).hours);
    assert.ok(problemsOf({ ...form, hours: 'x' }, AT, NOW).hours);
    assert.match(problemsOf({ ...form, hours: '1' }, AT, NOW + 2 * 3_600_000).hours ?? '', /already passed/);
  });
});

describe('the allocation list', () => {
  it('shows live allocations unless the URL has a known filter', () => {
    assert.equal(filterOf(undefined), 'live');
    assert.equal(filterOf('<script>'), 'live');
    assert.equal(filterOf('all'), 'all');
    assert.equal(filterOf('released'), 'released');
  });
  it('matches a part of the name or the complete ID, newest first', () => {
    const rows = [
      allocation({ id: 'alc_1', name: 'train' }),
      allocation({ id: 'alc_2', name: 'serve', created_at: later(5) }),
    ];
    assert.deepEqual(
      newestFirst([rows]).map(({ id }) => id),
      ['alc_2', 'alc_1'],
    );
    assert.deepEqual(
      named(rows, ' RAI ').map(({ id }) => id),
      ['alc_1'],
    );
    assert.deepEqual(
      named(rows, 'alc_2').map(({ id }) => id),
      ['alc_2'],
    );
  });
});

describe('the result of verifying a certificate', () => {
  it('is positive only if the signature was verified', () => {
    assert.equal(verdictWords({ is_valid: false, reason: 'Changed.' }).tone, 'bad');
    assert.equal(verdictWords({ failed: 'No crypto.' }).tone, 'warn');
    assert.equal(verdictWords('checking').tone, 'busy');
  });
});
