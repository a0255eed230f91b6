/** A chain read back from segments is the chain that was written, and no change of one stays unseen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ChainedRow, checkChain, genesis, type SealedRow, sealRows } from './audit-chain.ts';
import { decodeSegment, encodeSegment, segmentName } from './audit-segment.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const content = fc.record({
  actor_id: fc.option(text),
  action: text,
  metadata_text: text,
  user_agent: fc.option(text),
});
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

const chainOf = (contents: readonly Content[]): SealedRow[] => {
  const rows = contents.map(
    (one, index): ChainedRow => ({
      ...one,
      id: `aud_${String(index).padStart(4, '0')}`,
      xid: String(index + 1),
      created_at_us: '2026-11-15T10:03:21.000000Z',
      organization_id: 'org_a',
      project_id: null,
      actor_kind: 'user',
      actor_role: null,
      source_ip: null,
      target_kind: null,
      target_id: null,
      result: 'success',
      error_code: null,
      policy: 'p',
      correlation_id: 'c',
    }),
  );
  return sealRows(rows, new Map()).seals.map((seal, at) => ({ ...seal, row: rows[at] ?? null }));
};

/** In segments of these sizes. */
const split = (seals: readonly SealedRow[], sizes: readonly number[]): (readonly string[])[] => {
  const segments: (readonly string[])[] = [];
  let previous = genesis('org_a');
  for (let at = 0, n = 0; at < seals.length; n++) {
    const part = seals.slice(at, at + (sizes[n % sizes.length] ?? 1));
    segments.push(encodeSegment(previous, part));
    previous = part.at(-1)?.hash ?? previous;
    at += part.length;
  }
  return segments;
};

const findingsOf = (segments: readonly (readonly string[])[], length: number, hash: string): readonly string[] => {
  const check = checkChain('org_a', [{ chain: 'org_a', sequence: length, hash }]);
  for (const lines of segments) check.take(decodeSegment(lines)?.seals ?? []);
  return check.finish().findings.map(({ kind }) => kind);
};

const history = fc.record({
  contents: fc.array(content, { minLength: 1, maxLength: 12 }),
  sizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  at: fc.nat(),
});

test('segments of any size give the same chain back', () => {
  fc.assert(
    fc.property(history, ({ contents, sizes }) => {
      const seals = chainOf(contents);
      const segments = split(seals, sizes);
      assert.deepEqual(
        segments.flatMap((lines) => decodeSegment(lines)?.seals ?? []),
        seals,
      );
      assert.deepEqual(findingsOf(segments, seals.length, seals.at(-1)?.hash.toString('hex') ?? ''), []);
      const headers = segments.map((lines) => decodeSegment(lines)?.header);
      for (const [index, header] of headers.entries())
        assert.equal(header?.previous_hash, headers[index - 1]?.last_hash ?? genesis('org_a').toString('hex'));
    }),
  );
});

test('a changed row, and a segment that is missing or elsewhere, is found', () => {
  fc.assert(
    fc.property(history, ({ contents, sizes, at }) => {
      const seals = chainOf(contents);
      const segments = split(seals, sizes);
      const verdict = (changed: readonly (readonly string[])[]) =>
        findingsOf(changed, seals.length, seals.at(-1)?.hash.toString('hex') ?? '');
      const index = at % segments.length;
      const lines = segments[index] ?? [];
      const row = 1 + (at % (lines.length - 1));
      const edited = (lines[row] ?? '').replace('"policy":"p"', '"policy":"q"');
      assert.ok(verdict(segments.with(index, lines.with(row, edited))).includes('edited'));
      assert.ok(verdict(segments.toSpliced(index, 1)).length > 0, 'missing');
      if (segments.length > 1) {
        const other = (index + 1) % segments.length;
        const swapped = segments.with(index, segments[other] ?? []).with(other, lines);
        assert.ok(verdict(swapped).length > 0, 'swapped');
      }
    }),
  );
});

test('rows that do not match their seals are not archived', () => {
  const seals = chainOf(fc.sample(content, 3));
  const [first, second, third] = seals;
  assert.ok(first?.row != null && second !== undefined && third !== undefined);
  const start = genesis('org_a');
  for (const wrong of [
    [{ ...first, row: null }],
    [{ ...first, row: { ...first.row, policy: 'q' } }],
    [first, third],
    [second],
  ])
    assert.throws(() => encodeSegment(start, wrong), /does not verify at \d; nothing of it is archived/);
  assert.throws(() => encodeSegment(start, []), /a segment has rows/);
});

test('text that is no segment is none', () => {
  const lines = encodeSegment(genesis('org_a'), chainOf(fc.sample(content, 1)));
  for (const wrong of [
    [],
    ['x'],
    ['null'],
    ['1'],
    ['{"format":2}'],
    [...lines, '{'],
    [...lines, 'null'],
    [...lines, '{}'],
  ])
    assert.equal(decodeSegment(wrong), null, wrong.join('\n'));
  assert.equal(segmentName('org_a', 1, 5_000), 'org_a/000000000000001-000000000005000.jsonl');
});
