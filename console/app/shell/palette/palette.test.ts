import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rank } from './rank.ts';
import { isTraceable, recognizeId } from './recognize.ts';
import { meaningOf, targetsOf } from './shortcuts.ts';

const ULID = '01k9zv3m8q4t6w2x5y7r0s1n3p';

test('an ID is recognized by its prefix, also inside a sentence, in JSON or in capitals', () => {
  for (const text of [`alc_${ULID}`, ` "alc_${ULID}",\n`, `(alc_${ULID}).`, `ALC_${ULID.toUpperCase()}`])
    assert.deepEqual(recognizeId(text), { id: `alc_${ULID}`, kind: 'allocation', isCertain: true }, text);
  assert.equal(recognizeId(`nod_${ULID}`)?.kind, 'node');
  assert.equal(recognizeId(`wfr_${ULID}`)?.kind, 'workflow run');
  assert.equal(recognizeId(`ses_${ULID}`)?.kind, 'session');
});

test('text shaped like a correlation ID is taken for one, and a plain word only as a guess', () => {
  assert.deepEqual(recognizeId('c-4f0d2a52-8a8b-4d6e-9a0c-1f2e3d4c5b6a'), {
    id: 'c-4f0d2a52-8a8b-4d6e-9a0c-1f2e3d4c5b6a',
    kind: 'correlation ID',
    isCertain: true,
  });
  assert.equal(recognizeId('REQ.2026-11-15.1')?.isCertain, true);
  assert.equal(recognizeId('allocations')?.isCertain, false);
  assert.equal(recognizeId('h200-sxm-node')?.isCertain, false);
});

test('text that cannot be an ID is not recognized', () => {
  for (const text of [
    '',
    'short',
    'two words',
    '_leading12345',
    'x'.repeat(65),
    '<script>1234',
    'https://a.example/1234',
  ])
    assert.equal(recognizeId(text), null, text);
});

test('only resources with a timeline can be traced', () => {
  const traced = (id: string) => {
    const recognized = recognizeId(id);
    return recognized !== null && isTraceable(recognized);
  };
  assert.deepEqual(
    ['alc', 'nod', 'slt', 'tsk', 'wfr'].map((prefix) => traced(`${prefix}_${ULID}`)),
    [true, true, true, true, true],
  );
  assert.equal(traced(`key_${ULID}`), false);
});

const ENTRIES = [
  { label: 'Overview', aliases: ['dashboard'] },
  { label: 'Allocations', aliases: ['machines', 'instances'] },
  { label: 'Launch', aliases: ['new allocation', 'create'] },
  { label: 'train-llama', detail: 'Allocation, active' },
] as const;
const labels = (query: string) => rank(query, ENTRIES, 10).map(({ label }) => label);

test('matches by name come before aliases, and aliases before details', () => {
  assert.deepEqual(labels('alloc'), ['Allocations', 'Launch', 'train-llama']);
  assert.deepEqual(labels('llama'), ['train-llama']);
  assert.deepEqual(labels('dash'), ['Overview']);
});

test('every word must match, and letters in order are enough to match a name', () => {
  assert.deepEqual(labels('new alloc'), ['Launch']);
  assert.deepEqual(labels('ovw'), ['Overview']);
  assert.deepEqual(labels('nothing like it'), []);
});

test('without text all entries are in their order, certain ones first, guesses last, up to the limit', () => {
  assert.deepEqual(labels(''), ['Overview', 'Allocations', 'Launch', 'train-llama']);
  const pinned = { label: 'Trace this ID', stands: 'first' } as const;
  assert.deepEqual(
    rank('zzz', [...ENTRIES, pinned], 2).map(({ label }) => label),
    ['Trace this ID'],
  );
  assert.deepEqual(
    rank('train-llama', [...ENTRIES, pinned], 9).map(({ label }) => label),
    ['train-llama', 'Trace this ID'],
  );
  const guess = { label: 'Trace this ID', stands: 'last' } as const;
  assert.deepEqual(
    rank('llama', [guess, ...ENTRIES], 9).map(({ label }) => label),
    ['train-llama', 'Trace this ID'],
  );
  assert.equal(rank('', ENTRIES, 2).length, 2);
});

const targets = targetsOf({ projectId: 'prj_1', organizationId: 'org_1', isOperator: true });
const press = (key: string, more: Partial<Parameters<typeof meaningOf>[0]> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

test('Ctrl K and Cmd K open the palette anywhere, single keys only outside of text fields', () => {
  const typing = { targets, isAfterG: false, isBare: false };
  assert.deepEqual(meaningOf(press('k', { ctrlKey: true }), typing), { does: 'palette' });
  assert.deepEqual(meaningOf(press('K', { metaKey: true }), typing), { does: 'palette' });
  for (const key of ['/', '?', 'g', 'o']) assert.deepEqual(meaningOf(press(key), typing), { does: 'nothing' }, key);
  assert.deepEqual(meaningOf(press('/'), { ...typing, isBare: true }), { does: 'palette' });
  assert.deepEqual(meaningOf(press('?'), { ...typing, isBare: true }), { does: 'help' });
  assert.deepEqual(meaningOf(press('k', { altKey: true, ctrlKey: true }), typing), { does: 'nothing' });
});

test('g and a letter open a page, and the letter alone does nothing', () => {
  const free = { targets, isAfterG: true, isBare: true };
  assert.deepEqual(meaningOf(press('g'), { ...free, isAfterG: false }), { does: 'await' });
  assert.deepEqual(meaningOf(press('n'), free), { does: 'go', href: '/platform/nodes' });
  assert.deepEqual(meaningOf(press('n'), { ...free, isAfterG: false }), { does: 'nothing' });
  assert.deepEqual(meaningOf(press('z'), free), { does: 'nothing' });
});

test('every shortcut opens one page, and only pages that the user may open', () => {
  assert.equal(new Set(targets.map(({ key }) => key)).size, targets.length);
  const outsider = targetsOf({ projectId: null, organizationId: null, isOperator: false });
  assert.deepEqual(
    outsider.map(({ href }) => href),
    ['/', '/settings'],
  );
});
