/** Words that may come next on a command line, with their meaning. Sends no request, so it is instant. */
import { type Command, flagsOf, GLOBAL_FLAGS, type Group, isGroup } from './command.ts';
import { ENTRIES } from './program.ts';

type Candidate = readonly [word: string, summary: string];

const names = (nodes: readonly { name: string; summary: string }[]): Candidate[] =>
  nodes.map(({ name, summary }) => [name, summary]);

const flagsOfCommand = (
  node: Command,
): Record<string, { kind: string; summary: string; values?: readonly string[] }> => ({
  ...flagsOf(node),
  ...GLOBAL_FLAGS,
});

const withinCommand = (node: Command, words: readonly string[]): Candidate[] => {
  const flags = flagsOfCommand(node);
  const before = words.at(-2) ?? '';
  const open = before.startsWith('--') ? flags[before.slice(2)] : undefined;
  if (open !== undefined && open.kind !== 'toggle') return (open.values ?? []).map((value) => [value, '']);
  if (!(words.at(-1) ?? '').startsWith('-')) return [];
  return Object.entries(flags).map(([name, { summary }]) => [`--${name}`, summary]);
};

/** The last word is the one being typed; it may be empty. */
export const complete = async (words: readonly string[]): Promise<Candidate[]> => {
  const typed = words.at(-1) ?? '';
  const matching = (candidates: readonly Candidate[]) => candidates.filter(([word]) => word.startsWith(typed));
  if (words.length <= 1) return matching(names(ENTRIES.filter(({ hidden }) => hidden !== true)));
  let node: Command | Group | undefined = await ENTRIES.find(({ name }) => name === words[0])?.load();
  for (const word of words.slice(1, -1)) {
    if (node === undefined || !isGroup(node)) break;
    node = node.commands.find(({ name }) => name === word);
  }
  if (node === undefined) return [];
  return matching(isGroup(node) ? names(node.commands) : withinCommand(node, words));
};
