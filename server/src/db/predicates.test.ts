/** Every shared fragment has a comparison: a new one without it fails here, with its name. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import ts from 'typescript';
import * as predicates from './predicates.ts';

/** The files that compare a fragment with its rule on generated rows. */
const COMPARISONS = ['predicates.db.test.ts', 'predicates-tables.db.test.ts', 'sku-price.prop.db.test.ts'];

/** Names that the text uses as values, other than to import them. */
const namesUsed = (file: string, text: string): string[] => {
  const used: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node)) used.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return used;
};

const withoutComparison = (fragments: readonly string[], files: Readonly<Record<string, string>>): string[] => {
  const compared = new Set(Object.entries(files).flatMap(([file, text]) => namesUsed(file, text)));
  return fragments.filter((name) => !compared.has(name));
};

test('every fragment is compared with its rule', async () => {
  const texts = await Promise.all(
    COMPARISONS.map(async (file) => [file, await readFile(new URL(file, import.meta.url), 'utf8')] as const),
  );
  assert.deepEqual(withoutComparison(Object.keys(predicates), Object.fromEntries(texts)), []);
});

test('a fragment that is only imported, or only in a comment, is found', () => {
  const text = `import { fine, imported } from './predicates.ts';\n// commented\nholds(fine('s'), \`\${inText} quoted\`);`;
  assert.deepEqual(withoutComparison(['fine', 'inText', 'imported', 'commented', 'quoted'], { 'x.ts': text }), [
    'imported',
    'commented',
    'quoted',
  ]);
});
