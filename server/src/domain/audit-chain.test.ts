import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChainedRow,
  chainHash,
  checkChain,
  FINDINGS_MAX,
  genesis,
  isBefore,
  type SealedRow,
  sealRows,
} from './audit-chain.ts';

const row = (n: number, over: Partial<ChainedRow> = {}): ChainedRow => ({
  id: `aud_${String(n).padStart(4, '0')}`,
  xid: String(n),
  created_at_us: '2026-11-15T10:03:21.000000Z',
  organization_id: 'org_a',
  project_id: null,
  actor_kind: 'user',
  actor_id: 'usr_a',
  actor_role: null,
  source_ip: null,
  user_agent: null,
  action: 'project.create',
  target_kind: null,
  target_id: null,
  result: 'success',
  error_code: null,
  policy: 'p',
  correlation_id: 'c',
  metadata_text: '{}',
  ...over,
});

const chain = (count: number): SealedRow[] => {
  const rows = Array.from({ length: count }, (_, i) => row(i + 1));
  return sealRows(rows, new Map()).seals.map((seal, i) => ({ ...seal, row: rows[i] ?? null }));
};

const check = (seals: readonly SealedRow[], pageRows = 1_000) => {
  const checking = checkChain('org_a', []);
  for (let at = 0; at < seals.length; at += pageRows) checking.take(seals.slice(at, at + pageRows));
  return checking.finish();
};

test('sealing in one batch or in many gives the same chain', () => {
  const rows = Array.from({ length: 9 }, (_, i) => row(i + 1, { organization_id: i % 3 === 0 ? null : 'org_a' }));
  const whole = sealRows(rows, new Map()).seals;
  const first = sealRows(rows.slice(0, 4), new Map());
  const second = sealRows(rows.slice(4), first.ends);
  assert.deepEqual([...first.seals, ...second.seals], whole);
  assert.deepEqual(whole.map((seal) => `${seal.chain} ${seal.sequence}`).slice(0, 4), [
    'platform 1',
    'org_a 1',
    'org_a 2',
    'platform 2',
  ]);
});

test('every column is part of the hash, and null differs from the empty text', () => {
  const base = row(1);
  const hash = chainHash(genesis('org_a'), base);
  for (const name of Object.keys(base) as (keyof ChainedRow)[])
    assert.notDeepEqual(
      chainHash(genesis('org_a'), { ...base, [name]: `${base[name] ?? ''}` === '' ? '' : 'other' }),
      hash,
      name,
    );
  assert.notDeepEqual(genesis('org_a'), genesis('platform'));
});

test('text cannot move from one column into the next without changing the hash', () => {
  const one = row(1, { action: 'a","b', policy: 'c' });
  const two = row(1, { action: 'a', policy: 'b","c' });
  assert.notDeepEqual(chainHash(genesis('x'), one), chainHash(genesis('x'), two));
});

test('commit order compares transaction ids as numbers beyond double precision', () => {
  assert.equal(isBefore({ xid: '9', id: 'b' }, { xid: '10', id: 'a' }), true);
  assert.equal(isBefore({ xid: '9007199254740993', id: 'a' }, { xid: '9007199254740992', id: 'b' }), false);
  assert.equal(isBefore({ xid: '9', id: 'a' }, { xid: '9', id: 'b' }), true);
  assert.equal(isBefore({ xid: '9', id: 'a' }, { xid: '9', id: 'a' }), false);
});

test('a part that was checked elsewhere is skipped, and the chain goes on from its end', () => {
  const seals = chain(6);
  const [, , third] = seals;
  assert.ok(third);
  const checking = checkChain('org_a', []);
  checking.skip({ sequence: third.sequence, hash: third.hash });
  checking.take(seals.slice(3));
  assert.deepEqual(checking.finish().findings, []);
  const gap = checkChain('org_a', []);
  gap.skip({ sequence: third.sequence, hash: third.hash });
  gap.take(seals.slice(4));
  assert.ok(gap.finish().findings.length > 0);
});

test('one bad row is one finding, for any page size', () => {
  const seals = chain(20).map((seal) => (seal.sequence === 7 ? { ...seal, row: row(7, { result: 'denied' }) } : seal));
  for (const pageRows of [1, 3, 7, 100])
    assert.deepEqual(
      check(seals, pageRows).findings.map((f) => `${f.kind} ${f.sequence} ${f.audit_log_id}`),
      ['edited 7 aud_0007'],
    );
  assert.deepEqual(check(chain(20), 3).findings, []);
});

test('a row sealed with a valid hash but out of commit order is found', () => {
  const rows = [row(1), row(3), row(2)];
  const seals = sealRows(rows, new Map()).seals.map((seal, i) => ({ ...seal, row: rows[i] ?? null }));
  assert.equal(check(seals).findings[0]?.kind, 'reordered');
});

test('a chain with many faults gives a bounded report', () => {
  const seals = chain(300).map((seal) => ({ ...seal, row: null }));
  assert.equal(check(seals).findings.length, FINDINGS_MAX);
  assert.equal(check(seals).rows_sealed, 300);
});

const kindsOf = (seals: readonly SealedRow[], heads: Parameters<typeof checkChain>[1] = []) => {
  const checking = checkChain('org_a', heads);
  checking.take(seals);
  return checking.finish().findings.map((finding) => `${finding.kind} ${finding.sequence}`);
};

test('a row moved to another chain, swapped rows and missing seals are distinct findings', () => {
  const seals = chain(6);
  const [first, second] = seals;
  assert.ok(first && second);
  const moved = seals.map((seal) => (seal === second ? { ...seal, row: row(2, { organization_id: 'org_b' }) } : seal));
  assert.deepEqual(kindsOf(moved), ['edited 2']);
  const swapped = [{ ...first, row: second.row }, { ...second, row: first.row }, ...seals.slice(2)];
  assert.ok(kindsOf(swapped).every((finding) => finding.startsWith('reordered')));
  assert.deepEqual(kindsOf([first, ...seals.slice(3)])[0], 'deleted 2');
  const [gone] = seals.slice(3);
  assert.ok(gone);
  assert.deepEqual(kindsOf([first, { ...gone, row: null }, ...seals.slice(4)])[0], 'deleted 2');
});

test('a rewritten chain differs from its signed head in one finding, and a truncated one is shorter', () => {
  const seals = chain(4);
  const head = (sequence: number, hash: string) => ({ chain: 'org_a', sequence, hash });
  const signed = seals.map((seal) => head(seal.sequence, seal.hash.toString('hex')));
  assert.deepEqual(kindsOf(seals, signed), []);
  assert.deepEqual(kindsOf(seals, [head(2, 'other'), head(3, 'other')]), ['edited 2']);
  assert.deepEqual(kindsOf(seals.slice(0, 2), signed), ['truncated 3']);
  assert.equal(checkChain('org_a', []).finish().head_hash, null);
});
