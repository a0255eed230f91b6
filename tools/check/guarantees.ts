/**
 * `doc/architecture/guarantees.md` names the tests that prove each fault and invariant. Every row exists once, what is
 * not proven names what is missing and which part of the product closes it, and every named test is in its file, has a body and is not skipped. Those that a
 * machine may skip are listed by their condition; `.ci/run` fails where one is skipped for another reason than a missing GPU.
 */
import ts from 'typescript';
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const DOCUMENT = 'doc/architecture/guarantees.md';
const FAULTS = 53;
const INVARIANTS = 36;
/** What closes a row that is not proven: parts that do not exist, or work on what exists. */
const SUBJECTS = ['MAAS', 'webhooks', 'fabric', 'apps', 'billing', 'gangs', 'endurance'];
const SUBJECT = `(?:${SUBJECTS.join('|')})`;
const WAITS = new RegExp(`\\bWaits\\s+for\\s+${SUBJECT}(?:,\\s+${SUBJECT})*\\.$`);

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

type FoundTest = Readonly<{
  name: string;
  flaw: string | null;
  /** Where it is skipped unless a condition holds: that condition, as written. */
  condition: string | null;
}>;

/** As written in the file: a template keeps its `${…}`. */
const nameIn = (node: ts.Node | undefined, source: ts.SourceFile): string | undefined => {
  if (node === undefined) return undefined;
  if (ts.isStringLiteral(node)) return node.text;
  return ts.isTemplateLiteral(node) ? node.getText(source).slice(1, -1) : undefined;
};

const isFunction = (node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node);

const isSkipOrTodo = (name: string): boolean => /^(?:skip|todo)$/.test(name);

/** A value that skips on every machine. */
const isAlways = (value: ts.Expression): boolean =>
  value.kind === ts.SyntaxKind.TrueKeyword ||
  ts.isStringLiteralLike(value) ||
  ts.isTemplateExpression(value) ||
  (ts.isNumericLiteral(value) && Number(value.text) !== 0) ||
  ts.isObjectLiteralExpression(value) ||
  (ts.isPrefixUnaryExpression(value) &&
    value.operator === ts.SyntaxKind.ExclamationToken &&
    value.operand.kind === ts.SyntaxKind.FalseKeyword);

/** The value of a constant of the file, or the expression itself. */
const resolve = (expression: ts.Expression, source: ts.SourceFile): ts.Expression => {
  if (!ts.isIdentifier(expression)) return expression;
  let value: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText(source) === expression.text) value ??= node.initializer;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return value ?? expression;
};

/** What the options of a test or a suite say of `skip` and `todo`. */
const skipsIn = (call: ts.CallExpression, source: ts.SourceFile): readonly ts.Expression[] =>
  call.arguments.flatMap((argument) =>
    ts.isObjectLiteralExpression(argument)
      ? argument.properties.flatMap((property) => {
          if (property.name === undefined || !isSkipOrTodo(property.name.getText(source))) return [];
          if (ts.isPropertyAssignment(property)) return [resolve(property.initializer, source)];
          return ts.isShorthandPropertyAssignment(property) ? [resolve(property.name, source)] : [];
        })
      : [],
  );

/** A statement of the test itself that skips it: `t.skip(…)`, without an `if` around it. */
const isSkipCall = (statement: ts.Statement, source: ts.SourceFile): boolean =>
  ts.isExpressionStatement(statement) &&
  ts.isCallExpression(statement.expression) &&
  /^\w+\.(?:skip|todo)$/.test(statement.expression.expression.getText(source));

const isSuite = (node: ts.Node, source: ts.SourceFile): node is ts.CallExpression =>
  ts.isCallExpression(node) && /^(?:describe|suite)(?:\.skip|\.todo)?$/.test(node.expression.getText(source));

/** The test and the suites around it. */
const callsAround = (test: ts.CallExpression, source: ts.SourceFile): readonly ts.CallExpression[] => {
  const calls = [test];
  for (let node: ts.Node = test.parent; node !== undefined; node = node.parent)
    if (isSuite(node, source)) calls.push(node);
  return calls;
};

/** Skipped without a condition, or without a statement. A skip that depends on the machine is a condition. */
const judge = (call: ts.CallExpression, source: ts.SourceFile): Omit<FoundTest, 'name'> => {
  const calls = callsAround(call, source);
  const skips = calls.flatMap((one) => skipsIn(one, source)).filter(({ kind }) => kind !== ts.SyntaxKind.FalseKeyword);
  const body = call.arguments.find(isFunction)?.body;
  const isOff =
    calls.some(({ expression }) => isSkipOrTodo(expression.getText(source).split('.').at(-1) ?? '')) ||
    skips.some(isAlways) ||
    (body !== undefined && ts.isBlock(body) && body.statements.some((statement) => isSkipCall(statement, source)));
  const isEmpty = body === undefined || (ts.isBlock(body) && body.statements.length === 0);
  return {
    flaw: isOff ? 'is skipped' : isEmpty ? 'is empty' : null,
    condition: skips.length === 0 ? null : skips.map((skip) => skip.getText(source).replaceAll(/\s+/g, ' ')).join(', '),
  };
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
      if (name !== undefined) found.push({ name, ...judge(node, source) });
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
      const findings = [];
      if (missing === '') findings.push(`${id} does not state what is missing`);
      else if (!WAITS.test(missing)) findings.push(`${id} does not end with "Waits for" and ${SUBJECTS.join(', ')}`);
      if (status === 'In part' && tests.length === 0) findings.push(`${id} is proven in part by no test`);
      return findings;
    }),
  ];
};

/** CI has no GPU and none of the recordings that the repository may not contain: a skip there proves nothing. */
const isOptionalInCi = (condition: string | null): boolean =>
  condition !== null && /'gpu'|requiresRecording|requiresFixture/.test(condition);

type Reading = Readonly<{ findings: readonly string[]; conditions: ReadonlyMap<string, number> }>;

/** `read` returns undefined for a file that does not exist. */
export const readGuarantees = async (
  text: string,
  read: (file: string) => Promise<string | undefined>,
): Promise<Reading> => {
  const rows = rowsOf(text);
  const findings = rowFindings(rows);
  const known = new Map<string, FoundTest[] | undefined>();
  const conditional = new Map<string, string>();
  for (const { id, status, tests } of rows) {
    const proofs: FoundTest[] = [];
    for (const { file, name } of tests) {
      if (!known.has(file)) {
        const content = await read(file);
        known.set(file, content === undefined ? undefined : testsIn(file, content));
      }
      const found = known.get(file)?.filter((test) => test.name === name);
      if (found === undefined) findings.push(`${id}: ${file} does not exist`);
      else if (found.length === 0) findings.push(`${id}: ${file} has no test "${name}"`);
      for (const { flaw, condition } of found ?? []) {
        if (flaw !== null) findings.push(`${id}: "${name}" of ${file} ${flaw}`);
        if (condition !== null) conditional.set(`${file}: ${name}`, condition);
      }
      proofs.push(...(found ?? []));
    }
    if (status === 'Proven' && proofs.length > 0 && proofs.every(({ condition }) => isOptionalInCi(condition)))
      findings.push(`${id} is proven only by tests that CI may skip`);
  }
  const conditions = new Map<string, number>();
  for (const condition of conditional.values()) conditions.set(condition, (conditions.get(condition) ?? 0) + 1);
  return { findings, conditions };
};

export const guarantees: Check = {
  name: 'tests of the guarantees',
  run: async () => {
    const files = new Set(await repositoryFiles());
    const text = await readText(DOCUMENT);
    const read = async (file: string) => (files.has(file) ? readText(file) : undefined);
    const { findings, conditions } = await readGuarantees(text, read);
    const list = [...conditions].map(([condition, count]) => `${condition} (${count})`).toSorted();
    return verdict(findings, `${rowsOf(text).length} rows; named tests that a machine may skip: ${list.join(', ')}`);
  },
};
