/** Whether a command that a page shows exists in the CLI, with its flags. */
import { type Command, flagsOf, type Group, isGroup } from '../../cli/src/command.ts';
import { ENTRIES } from '../../cli/src/program.ts';

/** The words of a shown command; quotes keep one together. */
const wordsOf = (text: string): string[] =>
  (text.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ''));

/** Null if the CLI knows it, else what is unknown. */
export const unknownPart = async (text: string): Promise<string | null> => {
  const [program, first, ...rest] = wordsOf(text.trim());
  const entry = ENTRIES.find(({ name }) => name === first);
  if (program !== 'gpuaas' || entry === undefined) return text;
  let node: Command | Group = await entry.load();
  let at = 0;
  while (isGroup(node)) {
    const next: Command | Group | undefined = node.commands.find(({ name }) => name === rest[at]);
    if (next === undefined) return `${text}: no command ${rest[at]}`;
    node = next;
    at += 1;
  }
  const known = new Set(Object.keys(flagsOf(node)));
  const unknown = rest.slice(at).filter((word) => word.startsWith('--') && !known.has(word.slice(2)));
  return unknown.length === 0 ? null : `${text}: no flag ${unknown.join(', ')}`;
};
