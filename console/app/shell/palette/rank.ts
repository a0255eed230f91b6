/**
 * Which entries of the palette match a text, best first. Every word must match; the place of the match decides the
 * rank.
 */
export type Rankable = Readonly<{
  label: string;
  /** Other words that people use for it. */
  aliases?: readonly string[];
  detail?: string | undefined;
  /** Offered whatever was typed: before all but exact name matches, or after everything. */
  stands?: 'first' | 'last';
}>;

const EXACT = 1_000_000;
const WORDS = /[\s·/:_.-]+/;

const isWithin = (needle: string, text: string): boolean => {
  let at = 0;
  for (const letter of text) if (letter === needle[at]) at += 1;
  return at === needle.length;
};

const scoreOfWord = (word: string, { label, aliases = [], detail = '' }: Rankable): number => {
  const text = label.toLowerCase();
  if (text === word) return 100;
  if (text.startsWith(word)) return 80;
  if (text.split(WORDS).some((part) => part.startsWith(word))) return 60;
  if (aliases.some((alias) => alias.toLowerCase().startsWith(word))) return 50;
  if (text.includes(word)) return 40;
  if (
    aliases.some((alias) =>
      alias
        .toLowerCase()
        .split(WORDS)
        .some((part) => part.startsWith(word)),
    )
  )
    return 30;
  if (detail.toLowerCase().includes(word)) return 20;
  return word.length >= 3 && isWithin(word, text) ? 5 : 0;
};

const scoreOf = (query: string, entry: Rankable): number => {
  const text = query.trim().toLowerCase();
  if (entry.label.toLowerCase() === text) return EXACT;
  let sum = 0;
  for (const word of text.split(/\s+/)) {
    const score = scoreOfWord(word, entry);
    if (score === 0) return 0;
    sum += score;
  }
  return sum;
};

/** All of them in the given order if nothing was typed; entries with the same score keep that order too. */
export const rank = <T extends Rankable>(query: string, entries: readonly T[], most: number): readonly T[] => {
  const first = entries.filter(({ stands }) => stands === 'first');
  const last = entries.filter(({ stands }) => stands === 'last');
  const others = entries.filter(({ stands }) => stands === undefined);
  if (query.trim() === '') return [...first, ...others, ...last].slice(0, most);
  const found = others
    .map((entry) => ({ entry, score: scoreOf(query, entry) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const named = found.filter(({ score }) => score === EXACT).map(({ entry }) => entry);
  const rest = found.filter(({ score }) => score < EXACT).map(({ entry }) => entry);
  return [...named, ...first, ...rest].slice(0, most - last.length).concat(last);
};
