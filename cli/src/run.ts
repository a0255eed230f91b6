/** One run of the CLI, from arguments to exit code. */
import { type Command, CommanderError } from 'commander';
import type { Execute } from './command.ts';
import { createCli } from './context.ts';
import { EXIT, report, UsageError } from './exit.ts';
import type { Io } from './io.ts';
import { createOutput } from './output.ts';
import { createProgram, wordsOf } from './program.ts';
import type { GlobalFlags } from './settings.ts';

/**
 * Flags could not be parsed, so whether errors are JSON is read from the raw arguments, up to those of another program.
 */
const jsonFromWords = (argv: readonly string[]): boolean | undefined => {
  const own = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  return own.includes('--json') ? true : own.includes('--no-json') ? false : undefined;
};

/** Commander's message as a sentence, with the help of the deepest command that was recognized. */
const usageOf = (err: CommanderError, words: readonly string[], program: Command | undefined): UsageError => {
  const [sentence = '', ...more] = err.message.replace(/^error: /, '').split('\n');
  // Most often the flag belongs to the remote command.
  const isRemote = words[0] === 'ssh' && err.code === 'commander.unknownOption';
  const known: string[] = [];
  for (let at: Command | undefined = program; at !== undefined; ) {
    at = at.commands.find((child) => child.name() === words[known.length]);
    if (at !== undefined) known.push(at.name());
  }
  const hint = isRemote
    ? 'Put flags of the remote command after --.'
    : more.filter((line) => line.trim() !== '').join(' ');
  return new UsageError(
    `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${/[.?]$/.test(sentence) ? '' : '.'}`,
    [hint, `See: ${['gpuaas', ...known, '--help'].join(' ')}`].filter(Boolean).join(' '),
  );
};

const printCandidates = async (words: readonly string[], { stdout }: Io): Promise<number> => {
  const { complete } = await import('./complete.ts');
  for (const [word, summary] of await complete(words)) stdout.write(`${word}\t${summary}\n`);
  return EXIT.ok;
};

export const run = async (argv: readonly string[], io: Io): Promise<number> => {
  let code: number = EXIT.ok;
  const execute: Execute = async (spec, input) => {
    const cli = createCli(input.flags as GlobalFlags, io);
    code = (await spec.run(cli, input)) ?? EXIT.ok;
  };
  let program: Command | undefined;
  try {
    if (argv[0] === '__complete') return await printCandidates(argv.slice(argv[1] === '--' ? 2 : 1), io);
    program = await createProgram(argv, execute, io);
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (err) {
    if (err instanceof CommanderError && ['commander.helpDisplayed', 'commander.version'].includes(err.code))
      return EXIT.ok;
    // A noun without a verb: commander has shown the verbs on standard error.
    if (err instanceof CommanderError && err.code === 'commander.help')
      return err.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { jsonErrors } = createOutput({ json: jsonFromWords(argv), io });
    return report(err instanceof CommanderError ? usageOf(err, wordsOf(argv), program) : err, {
      json: jsonErrors,
      stderr: io.stderr,
    });
  }
};
