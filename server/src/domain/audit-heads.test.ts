import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HeadLine, readHeads } from './audit-heads.ts';

const ZERO = '0'.repeat(64);
const hashOf = (line: number) => String(line).padStart(64, 'a');

let signaturesChecked = 0;
const lineOf = (line: number, over: Partial<NonNullable<HeadLine['head']>> = {}, signed = true): HeadLine => ({
  text_hash: hashOf(line),
  head: {
    line,
    chain: 'org_a',
    sequence: line * 10,
    hash: hashOf(line),
    previous: line === 1 ? ZERO : hashOf(line - 1),
    ...over,
  },
  isSigned: () => {
    signaturesChecked += 1;
    return signed;
  },
});

const read = (lines: readonly HeadLine[], recorded = { line: 0, hash: ZERO }) =>
  readHeads(async function* () {
    yield* lines;
  }, recorded);

test('an intact file needs one signature check and keeps few heads, including the highest', async () => {
  signaturesChecked = 0;
  const lines = Array.from({ length: 1_000 }, (_, i) => lineOf(i + 1));
  const reading = await read(lines, { line: 1_000, hash: hashOf(1_000) });
  assert.equal(signaturesChecked, 1);
  assert.deepEqual([reading.lines, reading.findings], [1_000, []]);
  const heads = reading.heads.get('org_a') ?? [];
  assert.ok(heads.length <= 16);
  assert.equal(heads.at(-1)?.sequence, 10_000);
  assert.deepEqual(
    heads.map((head) => head.sequence),
    heads.map((head) => head.sequence).toSorted((a, b) => a - b),
  );
});

test('a line with a bad signature is not a head', async () => {
  const reading = await read([lineOf(1), lineOf(2, {}, false)]);
  assert.deepEqual(
    reading.findings.map(({ chain, finding }) => [chain, finding.kind]),
    [['org_a', 'head_forged']],
  );
  assert.equal(reading.heads.get('org_a')?.at(-1)?.sequence, 10);
});

test('an unreadable line is not a head of any chain', async () => {
  const unreadable: HeadLine = { text_hash: hashOf(2), head: null, isSigned: () => false };
  const reading = await read([lineOf(1), unreadable, lineOf(3)]);
  assert.deepEqual(
    reading.findings.map(({ chain, finding }) => [chain, finding.kind, finding.sequence]),
    [[null, 'head_forged', null]],
  );
});

test('a signed line out of place, repeated or replayed is reported', async () => {
  const kinds = async (lines: readonly HeadLine[]) => (await read(lines)).findings.map(({ finding }) => finding.kind);
  assert.deepEqual(await kinds([lineOf(1), lineOf(1)]), ['head_forged']);
  assert.deepEqual(await kinds([lineOf(1), lineOf(3)]), ['heads_missing']);
  assert.deepEqual(await kinds([lineOf(1), lineOf(2, { previous: ZERO })]), ['head_forged']);
});

test('heads that go back or disagree are reported for their chain', async () => {
  const back = await read([lineOf(1), lineOf(2, { sequence: 4 })]);
  assert.deepEqual(
    back.findings.map(({ chain, finding }) => [chain, finding.kind, finding.sequence]),
    [['org_a', 'truncated', 5]],
  );
  const other = await read([lineOf(1), lineOf(2, { sequence: 10 })]);
  assert.deepEqual(
    other.findings.map(({ finding }) => finding.kind),
    ['edited'],
  );
  const same = await read([lineOf(1), lineOf(2, { sequence: 10, hash: hashOf(1) })]);
  assert.deepEqual(same.findings, []);
});

test('a file other than the recorded one is reported; a longer version of it is not', async () => {
  assert.deepEqual(
    (await read([lineOf(1)], { line: 1, hash: ZERO })).findings.map(({ finding }) => finding.kind),
    ['head_forged'],
  );
  assert.deepEqual(
    (await read([lineOf(1)], { line: 2, hash: hashOf(2) })).findings.map(({ finding }) => finding.kind),
    ['heads_missing'],
  );
  assert.deepEqual(
    (await read([], { line: 2, hash: hashOf(2) })).findings.map(({ finding }) => finding.kind),
    ['heads_missing'],
  );
  assert.deepEqual((await read([lineOf(1), lineOf(2)], { line: 1, hash: hashOf(1) })).findings, []);
});
