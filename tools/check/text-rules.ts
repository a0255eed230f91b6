/** Rules about the text of files that no linter knows. Each has its reason, which is shown with a finding. */
import ts from 'typescript';
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

type TextRule = Readonly<{
  name: string;
  reason: string;
  applies: (file: string) => boolean;
  /** Lines that match break the rule. */
  breaks: RegExp;
  /** Then only string literals, template text and JSX text count: text for users, not comments and names. */
  of_literals?: true;
}>;

const code = (file: string): boolean => /\.(?:ts|tsx|js|mjs|cjs)$/.test(file);

const PLAIN_WORDS_REASON =
  'Texts for people use the terms of the glossary in ARCHITECTURE.md: name the actor, and use its trade words.';

/** An image is named by the hash of these files, so a changed comment would build it again. */
const IMAGE_RECIPE =
  /^build\/(?:node-image\/|slice-image\/(?:make-root|make-disk|readiness)\.sh$)|^node-agent\/test\/tiny-guest\//;

/** Software does not say or forget, and capacity is not sold. Tests may name a guarantee in these words. */
const SPEECH =
  /\b(?:says?|said|sold|sells?|forg(?:ets?|ot|otten)|e-mails?)\b|\bas (?:the|a|any|its) file says|\bhad it here\b|\bnot in order\b/i;

/** Of names of tests, and the commands of them. */
const TESTS = /\.(?:test|contract|e2e)\.tsx?$|^(?:bench|e2e|tools)\/|\/(?:test|golden)\//;

/** Unix has an account "nobody"; a text that means it quotes it. */
const DIALECT =
  /unless told|\b(?:noughts?|somebody|whoever|(?<!")nobody|anew|mend(?:s|ed|ing)?|tells?|erasure|clean-up|lately|absurd(?:ly)?|folders?)\b|(?:for|off|out of) sale\b|\bf[ae]ll ill\b|\b(?:is|was|are|were) told\b|\bstands? in the way\b|\bby (?:itself|themselves)\b|\b(?:does|did|could|can|will) ?not answer\b/i;

export const TEXT_RULES: readonly TextRule[] = [
  {
    name: 'platform knows no app',
    reason: 'The platform knows no runtime: what an app is called stands only in apps, bench, infra, doc, e2e and lab.',
    // The two files that state the rule must spell the word.
    applies: (file) =>
      !/^(?:apps|bench|infra|doc|e2e|lab)\//.test(file) &&
      !/^[A-Z]+\.md$|^package-lock\.json$|^tools\/check\/text-rules/.test(file),
    breaks: /slurm/i,
  },
  {
    name: 'no download addresses',
    reason: 'The lockfile names packages and digests; the registry is a setting of each installation.',
    applies: (file) => file === 'package-lock.json',
    breaks: /"resolved": "https?:/,
  },
  {
    name: 'no test alone',
    reason: 'With .only, every other test of the file is skipped.',
    applies: (file) => /\.(?:test|e2e)\.tsx?$/.test(file),
    breaks: /\b(?:it|test|describe|suite)\.only\(|\bonly: true\b/,
  },
  {
    name: 'no shell',
    reason: 'A shell interprets names as syntax: spawn with an argv array.',
    applies: (file) => code(file) && !/^tools\/check\/text-rules/.test(file),
    breaks: /\bshell: (?:true|['"`])/,
  },
  {
    name: 'few numbered parameters',
    reason:
      'Numbered parameters beyond $9 are easy to confuse: declare names with statement() of server/src/db/statement.ts.',
    applies: (file) => /^server\/src\/db\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'),
    breaks: /\$[1-9]\d/,
  },
  {
    name: 'named parameters in statements',
    reason:
      'A statement over several tables repeats its values in many places: declare names with statement() of server/src/db/statement.ts.',
    // The keys of reseal.ts are as many as the key columns of the table. A single $1 in a short query is clear.
    applies: (file) => /^server\/src\/db\/statements\/(?!reseal\.).*\.ts$/.test(file) && !file.endsWith('.test.ts'),
    breaks: /\$[2-9]/,
  },
  {
    name: 'rules of SQL stand once',
    reason:
      'Sets of states, kinds of tasks, live claims and complete slots are fragments of server/src/db/predicates.ts.',
    applies: (file) =>
      /^server\/src\/db\/.*\.ts$/.test(file) && !/\.test\.ts$|\/(?:predicates|types\.gen)\.ts$/.test(file),
    breaks:
      /in \('(?:queued', ')?dispatched', 'running'\)|in \('pending', 'running', 'waiting'|in \('(?:released', 'failed|failed', 'released|retired', 'deleted|approved', 'wiping', 'blocked|requested', 'provisioning|active', 'releasing', 'release_failed)'\)|kind (?:=|<>|(?:not )?in) \(?'\w+\.\w+'|\bc\.released_at is null|and s\.fabric_claim_mode /,
  },
  {
    name: 'American spelling',
    reason: 'One spelling for texts, names and files, so that a search finds all of them.',
    applies: (file) => (code(file) || /\.(?:md|sh)$|\/golden\//.test(file)) && !/^tools\/check\/text-rules/.test(file),
    breaks: /enrol(?!l)|colour|normalis|behaviour|favourite/i,
  },
  {
    name: 'plain words',
    reason: PLAIN_WORDS_REASON,
    applies: (file) =>
      /\.(?:md|cjs)$|^cli\/golden\/.*\.txt$|^infra\/observability\/|^lab\/.*\.yaml$/.test(file) ||
      (/\.sh$/.test(file) && !IMAGE_RECIPE.test(file)) ||
      (/^contract\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts')),
    breaks: DIALECT,
  },
  {
    name: 'plain words in code',
    reason: PLAIN_WORDS_REASON,
    applies: (file) =>
      /^(?:server|scheduler|cli|sdk|node-agent|kit|lab|console|tools|bench|e2e|contract)\/.*\.tsx?$/.test(file) &&
      // The rules and their tests must spell the words.
      !/^tools\/check\//.test(file),
    breaks: DIALECT,
    of_literals: true,
  },
  {
    name: 'no speech of software',
    reason: PLAIN_WORDS_REASON,
    applies: (file) =>
      // The names of tests stand in this document.
      (/\.(?:md|cjs)$|^lab\/.*\.yaml$|^cli\/golden\/.*\.txt$|^infra\/observability\//.test(file) &&
        file !== 'doc/architecture/guarantees.md') ||
      (/^contract\/src\/.*\.ts$/.test(file) && !TESTS.test(file)),
    breaks: SPEECH,
  },
  {
    name: 'no speech of software in code',
    reason: PLAIN_WORDS_REASON,
    applies: (file) =>
      /^(?:server|scheduler|cli|sdk|node-agent|kit|lab|console)\/.*\.tsx?$/.test(file) && !TESTS.test(file),
    breaks: SPEECH,
    of_literals: true,
  },
];

type Line = Readonly<{ number: number; text: string }>;

const linesOf = (text: string, first: number): readonly Line[] =>
  text.split('\n').map((line, index) => ({ number: first + index, text: line }));

const isText = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node) ||
  ts.isJsxText(node);

/** A literal of one word is a name of the code, so it is left out. */
const literalsOf = (file: string, text: string): readonly Line[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: Line[] = [];
  const visit = (node: ts.Node): void => {
    if (isText(node) && /\S\s+\S/.test(node.getText(source))) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      found.push(...linesOf(node.getText(source), first));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
};

export const findIn = (rule: TextRule, file: string, text: string): string[] => {
  // Parsing is slow, and most files hold none of the words.
  if (!rule.breaks.test(text)) return [];
  const lines = rule.of_literals ? literalsOf(file, text) : linesOf(text, 1);
  return lines
    .filter((line) => rule.breaks.test(line.text))
    .map(({ number, text: line }) => `${file}:${number}: ${line.trim().slice(0, 120)}`);
};

export const textRules: Check = {
  name: 'text rules',
  run: async () => {
    const files = await repositoryFiles();
    const findings: string[] = [];
    for (const rule of TEXT_RULES) {
      const found: string[] = [];
      for (const file of files.filter(rule.applies)) found.push(...findIn(rule, file, await readText(file)));
      if (found.length > 0) findings.push(`${rule.name}: ${rule.reason}\n  ${found.join('\n  ')}`);
    }
    return verdict(findings, TEXT_RULES.map((rule) => rule.name).join(', '));
  },
};
