/**
 * Every command of the CLI that a document names exists, with its flags. A command is code in backticks, or a line of an
 * indented or fenced block, that begins with `gpuaas`.
 */
import { type Command, flagsOf, GLOBAL_FLAGS, type Group, isGroup } from '../../cli/src/command.ts';
import { ENTRIES } from '../../cli/src/program.ts';
import { type Check, verdict } from './check.ts';
import { readText, repositoryFiles } from './files.ts';

const BLOCK = /^( *)```[\s\S]*?^ *```/gm;
const SPAN = /`(?:\$ )?gpuaas ([^`]+)`/g;
const LINE = /^ *(?:\$ )?gpuaas (.+)$/gm;
/** The rest is a comment, another program or a file. */
const END = /\s(?:#|--|\||>|&&)(?:\s|$)/;
/** The prefix of a hash. */
const IS_PREFIX = /\bv\d+$/;
const COMMON = new Set([...Object.keys(GLOBAL_FLAGS), 'help', 'version']);

const commandsIn = (text: string): string[] => {
  const blocks = [...text.matchAll(BLOCK)].map(([block]) => block.replaceAll(/\\\n/g, ' '));
  const spans = [...text.replaceAll(BLOCK, '').matchAll(SPAN)];
  return [...spans, ...blocks.flatMap((block) => [...block.matchAll(LINE)])]
    .map(([, rest = '']) => rest.replaceAll(/\$\([^)]*\)/g, '…').replaceAll(/\s+/g, ' '))
    .map((line) => line.split(END)[0] ?? '')
    .filter((line) => !IS_PREFIX.test(line));
};

const wrongIn = (line: string, commands: readonly (Command | Group)[]): string | null => {
  let node: Command | Group = { name: 'gpuaas', summary: '', commands };
  const words = line.split(' ');
  while (isGroup(node)) {
    const word = words.shift();
    if (word === undefined || !/^[a-z][a-z-]*$/.test(word)) return null;
    const child: Command | Group | undefined = node.commands.find(({ name }) => name === word);
    if (child === undefined) return `${node.name} has no command ${word}`;
    node = child;
  }
  const known = flagsOf(node);
  const flags = [...words.join(' ').matchAll(/(?:^| )--([a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
  const flag = flags.find((name) => !(COMMON.has(name) || name in known));
  return flag === undefined ? null : `${node.name} has no flag --${flag}`;
};

export const wrongCommands = (text: string, commands: readonly (Command | Group)[]): string[] =>
  commandsIn(text).flatMap((line) => {
    const wrong = wrongIn(line, commands);
    return wrong === null ? [] : [`gpuaas ${line}: ${wrong}`];
  });

export const documentCommands: Check = {
  name: 'commands in documents',
  run: async () => {
    const commands = await Promise.all(ENTRIES.map(({ load }) => load()));
    // The changelog names commands of its time.
    const documents = (await repositoryFiles()).filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');
    const findings: string[] = [];
    for (const file of documents)
      findings.push(...wrongCommands(await readText(file), commands).map((one) => `${file}: ${one}`));
    return verdict(findings, `${documents.length} documents`);
  },
};
