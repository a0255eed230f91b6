/** Parses a command line as far as the simulated shell supports: quotes, variables, pipes, lists, redirections. */

export type Simple = Readonly<{
  argv: readonly string[];
  input: string | null;
  output: string | null;
  append: boolean;
}>;
/** Commands joined by pipes, and the required result of the previous one. */
export type Step = Readonly<{ after: 'always' | 'success' | 'failure'; pipe: readonly Simple[] }>;

type Token = Readonly<{ word: string } | { operator: string }>;

const OPERATOR = /(?:&&|\|\||2>&1|2>\s*\/dev\/null|>&2|>>|[;|<>&])/y;
const VARIABLE = /\$(?:\{(\w+)\}|(\w+|\?))/g;

export class SyntaxProblem extends Error {}

const tokens = (line: string, variable: (name: string) => string): readonly Token[] => {
  const found: Token[] = [];
  const expand = (text: string): string => text.replaceAll(VARIABLE, (_, a, b) => variable(String(a ?? b)));
  let word: string | null = null;
  const flush = (): void => {
    if (word !== null) found.push({ word });
    word = null;
  };
  for (let at = 0; at < line.length; ) {
    const char = line[at] ?? '';
    OPERATOR.lastIndex = at;
    const operator = OPERATOR.exec(line)?.[0];
    if (operator !== undefined && (word === null || !operator.startsWith('2'))) {
      flush();
      found.push({ operator });
      at += operator.length;
    } else if (/\s/.test(char)) {
      flush();
      at += 1;
    } else if (char === '#' && word === null) {
      break;
    } else if (char === "'" || char === '"') {
      const end = line.indexOf(char, at + 1);
      if (end < 0) throw new SyntaxProblem(`unexpected EOF while looking for matching \`${char}'`);
      const inside = line.slice(at + 1, end);
      word = (word ?? '') + (char === '"' ? expand(inside) : inside);
      at = end + 1;
    } else if (char === '\\') {
      word = (word ?? '') + (line[at + 1] ?? '');
      at += 2;
    } else {
      const plain: string = /^[^\s'"\\;|<>&]+/.exec(line.slice(at))?.[0] ?? char;
      word = (word ?? '') + expand(plain);
      at += plain.length;
    }
  }
  flush();
  return found;
};

const AFTER = { ';': 'always', '&&': 'success', '||': 'failure' } as const;

const fresh = (): { argv: string[]; input: string | null; output: string | null; append: boolean } => ({
  argv: [],
  input: null,
  output: null,
  append: false,
});

export const parse = (line: string, variable: (name: string) => string): readonly Step[] => {
  const steps: Step[] = [];
  let after: Step['after'] = 'always';
  let pipe: Simple[] = [];
  let simple = fresh();
  const endSimple = (token: string): void => {
    if (simple.argv.length === 0) throw new SyntaxProblem(`syntax error near unexpected token \`${token}'`);
    pipe.push(simple);
    simple = fresh();
  };
  const endStep = (token: string): void => {
    endSimple(token);
    steps.push({ after, pipe });
    pipe = [];
  };
  const all = tokens(line, variable);
  for (let at = 0; at < all.length; at++) {
    const token = all[at];
    if (token === undefined) break;
    if ('word' in token) {
      simple.argv.push(token.word);
      continue;
    }
    const { operator } = token;
    if (operator === '&') throw new SyntaxProblem('the simulated shell runs nothing in the background');
    if (operator.startsWith('2>')) continue;
    if (operator === '>&2') {
      Object.assign(simple, { output: '/dev/stderr', append: true });
      continue;
    }
    if (operator === '|') endSimple(operator);
    else if (operator in AFTER) {
      endStep(operator);
      after = AFTER[operator as keyof typeof AFTER];
    } else {
      const next = all[++at];
      if (next === undefined || !('word' in next)) {
        throw new SyntaxProblem("syntax error near unexpected token `newline'");
      }
      if (operator === '<') simple.input = next.word;
      else Object.assign(simple, { output: next.word, append: operator === '>>' });
    }
  }
  if (simple.argv.length > 0 || pipe.length > 0) endStep('newline');
  else if (steps.length > 0 && after !== 'always') throw new SyntaxProblem('syntax error: unexpected end of file');
  return steps;
};
