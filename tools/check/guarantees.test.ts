import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guaranteeFindings, guarantees, rowsOf, testsIn } from './guarantees.ts';

const FILE = 'a.test.ts';
/** A placeholder, as it stands in the source of a test. */
const OF_KIND = `of $${'{kind}'} holds`;
const SOURCE = [
  "test('holds', () => { check(); });",
  "test('is an expression', () => check());",
  `it(\`${OF_KIND}\`, { skip: requires("qemu") }, async () => { check(); });`,
  "it('says nothing', () => {});",
  "test('off', { skip: true }, () => { check(); });",
  "test.skip('off too', () => { check(); });",
  "await t.test('inner', async () => { check(); });",
].join('\n');
const document = (...rows: readonly string[]): string =>
  [
    ...Array.from({ length: 53 }, (_, index) => `F${index + 1}`),
    ...Array.from({ length: 36 }, (_, index) => `I${index + 1}`),
  ]
    .map((id) => rows.find((row) => row.startsWith(`### ${id}.`)) ?? `### ${id}. x\n\n**Open.** Not built.\n`)
    .join('\n');
const found = (...rows: readonly string[]): Promise<string[]> =>
  guaranteeFindings(document(...rows), async (file) => (file === FILE ? SOURCE : undefined));

test('every guarantee of the document names tests that exist and do something', async () => {
  const outcome = await guarantees.run();
  assert.ok(outcome.ok, outcome.details);
});

test('tests are found by their names as written, with those that prove nothing', () => {
  assert.deepEqual(
    testsIn(FILE, SOURCE).map(({ name, flaw }) => [name, flaw]),
    [
      ['holds', null],
      ['is an expression', null],
      [OF_KIND, null],
      ['says nothing', 'is empty'],
      ['off', 'is skipped'],
      ['off too', 'is skipped'],
      ['inner', null],
    ],
  );
});

test('a row is complete with a status, and with tests or what is missing', async () => {
  assert.deepEqual(await found(), []);
  const proven = `### F1. A\n\nIt holds. **Proven.**\n\n- \`${FILE}\`: holds\n- \`${FILE}\`: ${OF_KIND}\n`;
  assert.deepEqual(await found(proven), []);
  assert.equal(rowsOf(proven)[0]?.tests.length, 2);
  assert.deepEqual(await found('### F2. A\n\n**Proven.**\n'), ['F2 is proven by no test']);
  assert.deepEqual(await found('### I3. A\n\n**In part.**\n\n- `a.test.ts`: inner\n'), [
    'I3 does not state what is missing',
  ]);
  assert.deepEqual(await found('### I4. A\n\n**In part.** Something.\n'), ['I4 is proven in part by no test']);
  assert.deepEqual(await found('### F5. A\n\nIt holds.\n'), ['F5 has no status']);
});

test('a named test that is missing, empty or skipped is a finding, and so is a missing row', async () => {
  const row = (name: string, file = FILE) => `### F1. A\n\n**Proven.**\n\n- \`${file}\`: ${name}\n`;
  assert.deepEqual(await found(row('says nothing')), ['F1: "says nothing" of a.test.ts is empty']);
  assert.deepEqual(await found(row('off')), ['F1: "off" of a.test.ts is skipped']);
  assert.deepEqual(await found(row('off too')), ['F1: "off too" of a.test.ts is skipped']);
  assert.deepEqual(await found(row('renamed')), ['F1: a.test.ts has no test "renamed"']);
  assert.deepEqual(await found(row('holds', 'b.test.ts')), ['F1: b.test.ts does not exist']);
  const without = await guaranteeFindings(document().replace('### F7. x', '### F70. x'), async () => undefined);
  assert.deepEqual(without, ['F7 has 0 rows', 'F70 is not a row']);
});
