import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readHeads } from '../../domain/audit-heads.ts';
import { createHeadsFile, type FileEnd } from './heads-file.ts';

const NOTHING: FileEnd = { line: 0, hash: '0'.repeat(64) };

/** Appends one head at a time, and starts a new file after some lines. */
const bench = async (t: TestContext, count: number) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-heads-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'heads.jsonl');
  const seed = randomBytes(32);
  const heads = createHeadsFile({ file, seeds: () => [seed], rotate_bytes: 1_000 });
  let end = NOTHING;
  const append = async (): Promise<void> => {
    const sequence = end.line + 1;
    end = await heads.append([{ chain: 'org_a', sequence, hash: 'ab'.repeat(32), sealed_at: '' }], end);
  };
  for (let n = 0; n < count; n++) await append();
  const read = () => readHeads(() => heads.lines(), end);
  const kinds = async () => (await read()).findings.map(({ finding }) => finding.kind);
  return { dir, file, heads, append, read, kinds, end: () => end };
};

test('a full file gives way to the next, which continues with the hash of its last line', async (t) => {
  const b = await bench(t, 12);
  const files = readdirSync(b.dir).toSorted();
  assert.ok(files.length > 2, files.join());
  assert.match(files[1] ?? '', /^heads\.jsonl\.\d{15}$/);
  const { lines, findings } = await b.read();
  assert.deepEqual([lines, findings], [12, []]);
  // The first line of the newest file names the last line of the one before.
  const first = JSON.parse(readFileSync(b.file, 'utf8').split('\n')[0] ?? '') as { line: number; previous: string };
  const before = Number((files.at(-1) ?? '').split('.').at(-1));
  assert.equal(first.line, before + 1);
});

test('a missing file, a cut one and a cut end are found across files', async (t) => {
  const b = await bench(t, 12);
  const full = readdirSync(b.dir).toSorted().slice(1);
  const second = join(b.dir, full[1] ?? '');
  const whole = readFileSync(second, 'utf8');
  rmSync(second);
  assert.deepEqual(await b.kinds(), ['heads_missing']);
  writeFileSync(second, whole.split('\n').slice(0, -2).join('\n').concat('\n'));
  assert.deepEqual(await b.kinds(), ['heads_missing']);
  writeFileSync(second, whole.replace('"sequence":', '"sequence":1'));
  assert.ok((await b.kinds()).includes('head_forged'));
  writeFileSync(second, whole);
  assert.deepEqual(await b.kinds(), []);
  rmSync(b.file);
  assert.deepEqual(await b.kinds(), ['heads_missing']);
});

test('the end is the last complete line, also where the newest file is empty or missing', async (t) => {
  const b = await bench(t, 0);
  assert.equal(await b.heads.end(), null);
  for (let n = 0; n < 12; n++) await b.append();
  assert.deepEqual(await b.heads.end(), b.end());
  const full = readdirSync(b.dir).toSorted().at(-1) ?? '';
  writeFileSync(b.file, '');
  assert.equal((await b.heads.end())?.line, Number(full.split('.').at(-1)));
  rmSync(b.file);
  assert.equal((await b.heads.end())?.line, Number(full.split('.').at(-1)));
});

test('a crash between two files is continued from the last line of the full one', async (t) => {
  const b = await bench(t, 12);
  const current = readFileSync(b.file, 'utf8').trimEnd().split('\n');
  const full = readdirSync(b.dir).toSorted().slice(1);
  // As if the newest file had become full, and no next one had been created.
  const last = JSON.parse(current.at(-1) ?? '') as { line: number };
  writeFileSync(join(b.dir, `heads.jsonl.${String(last.line).padStart(15, '0')}`), readFileSync(b.file));
  rmSync(b.file);
  await b.append();
  assert.equal(readdirSync(b.dir).length, full.length + 2);
  const { lines, findings } = await b.read();
  assert.deepEqual([lines, findings], [13, []]);
});

test('a file that becomes full while it is read is read once and completely', async (t) => {
  const b = await bench(t, 12);
  const recorded = b.end();
  const reading = b.heads.lines()[Symbol.asyncIterator]();
  const seen: (number | undefined)[] = [];
  for (let step = await reading.next(); !step.done; step = await reading.next()) {
    seen.push(step.value.head?.line);
    if (seen.length < 8) await b.append();
  }
  assert.deepEqual(
    seen.slice(0, recorded.line),
    Array.from({ length: recorded.line }, (_, index) => index + 1),
  );
  assert.equal(new Set(seen).size, seen.length);
});
