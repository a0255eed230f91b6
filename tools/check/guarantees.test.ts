import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guarantees, readGuarantees, rowsOf, testsIn } from './guarantees.ts';

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
  "const skip = requires('root');",
  "test('by a constant', { skip }, () => { check(); });",
  'const never = "later";',
  "test('by a text', { skip: never }, () => { check(); });",
  "test('by itself', (t) => { t.skip(); check(); });",
  "test('by itself, where it must', (t) => { if (off) return t.skip(); check(); });",
  "describe('suite', { skip: requires('gpu') }, () => { it('of a suite', () => { check(); }); });",
  "describe.skip('suite', () => { it('of a suite that is off', () => { check(); }); });",
  "test('negated', { skip: !false, timeout: 1 }, () => { check(); });",
  "test('not at all', { skip: false }, () => { check(); });",
].join('\n');
const document = (...rows: readonly string[]): string =>
  [
    ...Array.from({ length: 53 }, (_, index) => `F${index + 1}`),
    ...Array.from({ length: 36 }, (_, index) => `I${index + 1}`),
  ]
    .map(
      (id) =>
        rows.find((row) => row.startsWith(`### ${id}.`)) ?? `### ${id}. x\n\n**Open.** Not built. Waits for apps.\n`,
    )
    .join('\n');
const reading = (...rows: readonly string[]) =>
  readGuarantees(document(...rows), async (file) => (file === FILE ? SOURCE : undefined));
const found = async (...rows: readonly string[]): Promise<readonly string[]> => (await reading(...rows)).findings;

test('every guarantee of the document names tests that exist and do something', async () => {
  const outcome = await guarantees.run();
  assert.ok(outcome.ok, outcome.details);
});

test('tests are found by their names as written, with those that prove nothing', () => {
  assert.deepEqual(
    testsIn(FILE, SOURCE).map(({ name, flaw, condition }) => [name, flaw, ...(flaw === null ? [condition] : [])]),
    [
      ['holds', null, null],
      ['is an expression', null, null],
      [OF_KIND, null, 'requires("qemu")'],
      ['says nothing', 'is empty'],
      ['off', 'is skipped'],
      ['off too', 'is skipped'],
      ['inner', null, null],
      ['by a constant', null, "requires('root')"],
      ['by a text', 'is skipped'],
      ['by itself', 'is skipped'],
      ['by itself, where it must', null, null],
      ['of a suite', null, "requires('gpu')"],
      ['of a suite that is off', 'is skipped'],
      ['negated', 'is skipped'],
      ['not at all', null, null],
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
  assert.deepEqual(await found('### I4. A\n\n**In part.** Something. Waits for\nMAAS, apps.\n'), [
    'I4 is proven in part by no test',
  ]);
  for (const missing of ['Something.', 'Waits for MAAS, one day.', 'Waits for somebody.'])
    assert.deepEqual(await found(`### I5. A\n\n**Open.** ${missing}\n`), [
      'I5 does not end with "Waits for" and MAAS, webhooks, fabric, apps, billing, gangs, endurance',
    ]);
  assert.deepEqual(await found('### F5. A\n\nIt holds.\n'), ['F5 has no status']);
});

test('a named test that is missing, empty or skipped is a finding, and so is a missing row', async () => {
  const row = (name: string, file = FILE) => `### F1. A\n\n**Proven.**\n\n- \`${file}\`: ${name}\n`;
  assert.deepEqual(await found(row('says nothing')), ['F1: "says nothing" of a.test.ts is empty']);
  assert.deepEqual(await found(row('off')), ['F1: "off" of a.test.ts is skipped']);
  assert.deepEqual(await found(row('off too')), ['F1: "off too" of a.test.ts is skipped']);
  assert.deepEqual(await found(row('renamed')), ['F1: a.test.ts has no test "renamed"']);
  assert.deepEqual(await found(row('holds', 'b.test.ts')), ['F1: b.test.ts does not exist']);
  assert.deepEqual(await found(row('of a suite')), ['F1 is proven only by tests that CI may skip']);
  assert.deepEqual((await reading(row('by a constant'))).conditions, new Map([["requires('root')", 1]]));
  const { findings: without } = await readGuarantees(
    document().replace('### F7. x', '### F70. x'),
    async () => undefined,
  );
  assert.deepEqual(without, ['F7 has 0 rows', 'F70 is not a row']);
});
