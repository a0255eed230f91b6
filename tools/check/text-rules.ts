/** Rules about the text of files that no linter knows. Each has its reason, which its offender reads. */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

type TextRule = Readonly<{
  name: string;
  reason: string;
  applies: (file: string) => boolean;
  /** Lines that match break the rule. */
  breaks: RegExp;
}>;

const code = (file: string): boolean => /\.(?:ts|tsx|js|mjs|cjs)$/.test(file);

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
    reason: 'The lockfile names packages and digests; where they come from is the business of who installs.',
    applies: (file) => file === 'package-lock.json',
    breaks: /"resolved": "https?:/,
  },
  {
    name: 'no test alone',
    reason: 'A test marked as the only one silences every other.',
    applies: (file) => /\.(?:test|e2e)\.tsx?$/.test(file),
    breaks: /\b(?:it|test|describe|suite)\.only\(|\bonly: true\b/,
  },
  {
    name: 'no shell',
    reason: 'A shell reads names as syntax: spawn with an argv array.',
    applies: (file) => code(file) && !/^tools\/check\/text-rules/.test(file),
    breaks: /\bshell: (?:true|['"`])/,
  },
  {
    name: 'few numbered parameters',
    reason: 'Nobody can count to $10 in a statement: declare names with statement() of server/src/db/statement.ts.',
    applies: (file) => /^server\/src\/db\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'),
    breaks: /\$[1-9]\d/,
  },
  {
    name: 'rules of SQL stand once',
    reason: 'Open tasks, live runs, live claims and complete slots are fragments of server/src/db/predicates.ts.',
    applies: (file) =>
      /^server\/src\/db\/.*\.ts$/.test(file) && !/\.test\.ts$|\/(?:predicates|types\.gen)\.ts$/.test(file),
    breaks:
      /in \('(?:queued', ')?dispatched', 'running'\)|in \('pending', 'running', 'waiting'\)|\bc\.released_at is null|and s\.fabric_claim_mode /,
  },
  {
    name: 'plain words',
    reason:
      'Texts for people use the terms of the glossary in ARCHITECTURE.md: name the actor, and use its trade words.',
    applies: (file) =>
      /\.md$|^cli\/golden\/.*\.txt$|^infra\/observability\//.test(file) ||
      (/^contract\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts')),
    breaks:
      /unless told|\b(?:noughts?|somebody|whoever|nobody|anew|mend(?:s|ed|ing)?|tells?|enrolment|erasure|clean-up)\b|(?:for|off|out of) sale\b|\bf[ae]ll ill\b|\b(?:is|was|are|were) told\b|\bstands? in the way\b/i,
  },
  {
    name: 'slots have one owner',
    reason: 'Slots are written by server/src/db/slot-approval.ts, and with other tables by server/src/db/statements.',
    applies: (file) =>
      /^server\/src\/.*\.ts$/.test(file) &&
      !/\.test\.ts$|^server\/src\/db\/(?:slot-approval\.ts|statements\/)/.test(file),
    breaks: /(?:update|insert into|delete from) node_resource_slots\b/,
  },
];

export const findIn = (rule: TextRule, file: string, text: string): string[] =>
  text
    .split('\n')
    .flatMap((line, index) => (rule.breaks.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`] : []));

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
