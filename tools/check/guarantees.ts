/**
 * `doc/architecture/guarantees.md` names the tests that prove each fault and invariant. Every row exists once, what is
 * not proven names what is missing, and every named test is in its file, has a body and is not skipped.
 */
import ts from 'typescript';
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const DOCUMENT = 'doc/architecture/guarantees.md';
const FAULTS = 53;
const INVARIANTS = 36;

type NamedTest = Readonly<{ file: string; name: string }>;
type Row = Readonly<{ id: string; status: string | undefined; missing: string; tests: readonly NamedTest[] }>;

export const rowsOf = (text: string): Row[] =>
  text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const part = section.split(/^## /m)[0] ?? '';
      const [, status, missing = ''] = /\*\*(Proven|In part|Open)\.\*\*(.*?)(?:\n\n|$)/s.exec(part) ?? [];
      const tests = [...part.matchAll(/^- `([^`]+)`: (.+)$/gm)].map(([, file = '', name = '']) => ({ file, name }));
      return { id: /^[FI]\d+(?=\. \S)/.exec(part)?.[0] ?? part.slice(0, 20), status, missing: missing.trim(), tests };
    });

type FoundTest = Readonly<{ name: string; flaw: string | null }>;

/** As written in the file: a template keeps its `${…}`. */
const nameIn = (node: ts.Node | undefined, source: ts.SourceFile): string | undefined => {
  if (node === undefined) return undefined;
  if (ts.isStringLiteral(node)) return node.text;
  return ts.isTemplateLiteral(node) ? node.getText(source).slice(1, -1) : undefined;
};

const isFunction = (node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node);

/** Skipped without a condition, or without a statement. A skip that depends on the machine is not a flaw. */
const flawOf = (call: ts.CallExpression, source: ts.SourceFile): string | null => {
  if (/\.(?:skip|todo)$/.test(call.expression.getText(source))) return 'is skipped';
  const isOff = (property: ts.ObjectLiteralElementLike): boolean =>
    ts.isPropertyAssignment(property) &&
    /^(?:skip|todo)$/.test(property.name.getText(source)) &&
    (property.initializer.kind === ts.SyntaxKind.TrueKeyword || ts.isStringLiteral(property.initializer));
  for (const argument of call.arguments)
    if (ts.isObjectLiteralExpression(argument) && argument.properties.some(isOff)) return 'is skipped';
  const body = call.arguments.find(isFunction)?.body;
  const isEmpty = body === undefined || (ts.isBlock(body) && body.statements.length === 0);
  return isEmpty ? 'is empty' : null;
};

export const testsIn = (file: string, text: string): FoundTest[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: FoundTest[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      /^(?:test|it|story|\w+\.test)(?:\.skip|\.todo)?$/.test(node.expression.getText(source))
    ) {
      const name = nameIn(node.arguments[0], source);
      if (name !== undefined) found.push({ name, flaw: flawOf(node, source) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

const rowFindings = (rows: readonly Row[]): string[] => {
  const expected = [
    ...Array.from({ length: FAULTS }, (_, index) => `F${index + 1}`),
    ...Array.from({ length: INVARIANTS }, (_, index) => `I${index + 1}`),
  ];
  const count = (id: string): number => rows.filter((row) => row.id === id).length;
  return [
    ...expected.filter((id) => count(id) !== 1).map((id) => `${id} has ${count(id)} rows`),
    ...rows.filter(({ id }) => !expected.includes(id)).map(({ id }) => `${id} is not a row`),
    ...rows.flatMap(({ id, status, missing, tests }) => {
      if (status === undefined) return [`${id} has no status`];
      if (status === 'Proven') return tests.length === 0 ? [`${id} is proven by no test`] : [];
      const findings = missing === '' ? [`${id} does not state what is missing`] : [];
      return status === 'In part' && tests.length === 0
        ? [...findings, `${id} is proven in part by no test`]
        : findings;
    }),
  ];
};

/** `read` returns undefined for a file that does not exist. */
export const guaranteeFindings = async (
  text: string,
  read: (file: string) => Promise<string | undefined>,
): Promise<string[]> => {
  const rows = rowsOf(text);
  const findings = rowFindings(rows);
  const known = new Map<string, FoundTest[] | undefined>();
  for (const { id, tests } of rows)
    for (const { file, name } of tests) {
      if (!known.has(file)) {
        const content = await read(file);
        known.set(file, content === undefined ? undefined : testsIn(file, content));
      }
      const found = known.get(file)?.filter((test) => test.name === name);
      if (found === undefined) findings.push(`${id}: ${file} does not exist`);
      else if (found.length === 0) findings.push(`${id}: ${file} has no test "${name}"`);
      for (const { flaw } of found ?? []) if (flaw !== null) findings.push(`${id}: "${name}" of ${file} ${flaw}`);
    }
  return findings;
};

export const guarantees: Check = {
  name: 'tests of the guarantees',
  run: async () => {
    const files = new Set(await repositoryFiles());
    const text = await readText(DOCUMENT);
    const findings = await guaranteeFindings(text, async (file) => (files.has(file) ? readText(file) : undefined));
    return verdict(findings, `${rowsOf(text).length} rows`);
  },
};
