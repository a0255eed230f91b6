import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSiteText, siteText } from './site-file.ts';

const TEXT = `# Of a test.
version: 1
regions:
  - name: us-buffalo-1
    display_name: Buffalo
  - name: eu/north
    display_name: North
`;

const read = (text: string) => {
  const found = readSiteText(text);
  assert.ok('site' in found);
  return found;
};
const wrongOf = (text: string) => {
  const found = readSiteText(text);
  assert.ok('wrong' in found);
  return found.wrong;
};

test('a value is found at its line, and one that is missing at the row that lacks it', () => {
  const { placeOf } = read(TEXT);
  assert.deepEqual(placeOf('/body/site/regions/1/name'), { line: 6, name: 'regions[1].name' });
  assert.deepEqual(placeOf('/body/site/regions/0/enabled'), { line: 4, name: 'regions[0].enabled' });
  assert.deepEqual(placeOf('/body/site/skus'), { line: 2, name: 'skus' });
  assert.equal(placeOf('/body/hash'), null);
  assert.equal(placeOf('/body/sites/regions'), null);
});

test('text that is no document is refused at its line, and one without a site as a whole', () => {
  const { line, column, message } = wrongOf('version: 1\nregions:\n  - name: a\n   b: [\n');
  assert.equal(line, 4);
  assert.ok(column !== null && message.length > 10);
  assert.deepEqual(wrongOf('').line, null);
  assert.match(wrongOf('only text').message, /must start with "version: 1"/);
  assert.equal(wrongOf('version: 1\nversion: 1\n').line, 2);
});

test('a document whose aliases would grow without end is refused, and so is an alias of nothing', () => {
  const rows = Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]`);
  assert.match(wrongOf(['a0: &a0 [x]', ...rows].join('\n')).message, /alias/i);
  assert.match(wrongOf('version: *missing\n').message, /alias/i);
});

test('an exported site reads back as it is, in YAML and in JSON, and names its schema for editors', () => {
  const { site } = read(TEXT);
  const text = siteText(site, 'https://gpuaas.example.com/console');
  assert.match(text, /^# yaml-language-server: \$schema=https:\/\/gpuaas\.example\.com\/site\.schema\.json\n/);
  assert.deepEqual(read(text).site, site);
  assert.deepEqual(read(JSON.stringify(site)).site, site);
});
