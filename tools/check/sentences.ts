/**
 * A sentence of a document is understood at first reading: 25 words are the aim (CONTRIBUTING.md, "Words"), and more than
 * the limit below is refused. Code in backticks and the text of a link count as they read; each item of a list and each
 * cell of a table is read alone.
 */
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const WORDS_MAX = 35;

export type Sentence = Readonly<{ line: number; words: number; text: string }>;
type Block = { line: number; text: string };

const ITEM = /^\s*(?:[-*]|\d+\.)\s+/;
const isTable = (line: string): boolean => /^\s*\|/.test(line);
/** Nothing in these lines is a sentence. */
const isApart = (line: string): boolean => /^\s*$|^#|^\s*<|^---/.test(line);

const blocksOf = (text: string): readonly Block[] => {
  const blocks: Block[] = [];
  let open: Block | undefined;
  let isCode = false;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replace(/^>\s?/, '');
    const isFence = /^\s*```/.test(line);
    if (isFence) isCode = !isCode;
    if (isFence || isCode || isApart(line) || isTable(line) || ITEM.test(line)) open = undefined;
    if (isFence || isCode || isApart(line)) continue;
    if (isTable(line)) {
      for (const cell of line.split(/(?<!\\)\|/)) blocks.push({ line: index + 1, text: cell });
      continue;
    }
    if (open === undefined) {
      open = { line: index + 1, text: line.replace(ITEM, '') };
      blocks.push(open);
    } else open.text += ` ${line.trim()}`;
  }
  return blocks;
};

export const sentencesIn = (text: string): readonly Sentence[] =>
  blocksOf(text).flatMap(({ line, text: block }) =>
    block
      .replace(/`[^`]*`/g, 'code')
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .split(/(?<=[.!?][)"”*]*)\s+/)
      .map((sentence) => ({ line, words: sentence.split(/\s+/).filter(Boolean).length, text: sentence.trim() })),
  );

export const longSentences = (text: string): readonly Sentence[] =>
  sentencesIn(text).filter(({ words }) => words > WORDS_MAX);

export const documentSentences: Check = {
  name: 'sentences of documents',
  run: async () => {
    const documents = (await repositoryFiles()).filter((file) => file.endsWith('.md'));
    const findings: string[] = [];
    let count = 0;
    for (const file of documents) {
      const text = await readText(file);
      count += sentencesIn(text).length;
      for (const { line, words, text: sentence } of longSentences(text))
        findings.push(`${file}:${line}: ${words} words, ${WORDS_MAX} at most: ${sentence.slice(0, 100)}`);
    }
    return verdict(findings, `${count} of at most ${WORDS_MAX} words`);
  },
};
