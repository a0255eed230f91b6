/**
 * The tree of commands. Each noun is a module that is loaded only when the command line names it: help and completion
 * of the first level come from this table alone.
 */
import { Command as Commander } from 'commander';
import { addGlobalFlags, type Command, type Execute, GLOBAL_FLAGS, type Group, install } from './command.ts';
import type { Io } from './io.ts';
import { VERSION } from './version.ts';

type Entry = Readonly<{
  name: string;
  summary: string;
  group: string;
  /** For programs that we start ourselves: in no help and no completion. */
  hidden?: true;
  load: () => Promise<Command | Group>;
}>;

const WORK = 'Work:';
const CONNECT = 'Connect:';
const ACCESS = 'Access:';
const CATALOG = 'Catalog:';
const OBSERVE = 'What happened:';
const OPERATE = 'Operators:';
const TOOL = 'This tool:';

export const ENTRIES: readonly Entry[] = [
  { name: 'login', summary: 'sign in', group: TOOL, load: async () => (await import('./commands/login.ts')).login },
  {
    name: 'logout',
    summary: 'forget the sign-in of a profile',
    group: TOOL,
    load: async () => (await import('./commands/login.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'who you are and where you may work',
    group: TOOL,
    load: async () => (await import('./commands/whoami.ts')).whoami,
  },
  {
    name: 'doctor',
    summary: 'check connection, clock, sign-in and configuration',
    group: TOOL,
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'api',
    summary: 'call any path of the API',
    group: TOOL,
    load: async () => (await import('./commands/api.ts')).api,
  },
  {
    name: 'completion',
    summary: 'shell completion for bash, zsh and fish',
    group: TOOL,
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  {
    name: 'version',
    summary: 'version of this tool',
    group: TOOL,
    load: async () => (await import('./commands/version.ts')).version,
  },
  {
    name: 'allocation',
    summary: 'launch, watch and release GPUs',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).allocation,
  },
  {
    name: 'launch',
    summary: 'short for allocation create',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.launch,
  },
  {
    name: 'ls',
    summary: 'short for allocation list',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.ls,
  },
  {
    name: 'get',
    summary: 'short for allocation get',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.get,
  },
  {
    name: 'release',
    summary: 'short for allocation release',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.release,
  },
  {
    name: 'quota',
    summary: 'GPU limits and what is used of them',
    group: WORK,
    load: async () => (await import('./commands/capacity.ts')).quota,
  },
  {
    name: 'project',
    summary: 'projects and their members',
    group: WORK,
    load: async () => (await import('./commands/project.ts')).project,
  },
  {
    name: 'organization',
    summary: 'organizations and their members',
    group: WORK,
    load: async () => (await import('./commands/organization.ts')).organization,
  },
  {
    name: 'invitation',
    summary: 'invite people to an organization',
    group: WORK,
    load: async () => (await import('./commands/invitation.ts')).invitation,
  },
  {
    name: 'ssh',
    summary: 'connect with ssh, or run a command there',
    group: CONNECT,
    load: async () => (await import('./commands/ssh.ts')).ssh,
  },
  {
    name: 'terminal',
    summary: 'a shell without an SSH key of yours',
    group: CONNECT,
    load: async () => (await import('./commands/console.ts')).terminal,
  },
  {
    name: 'console',
    summary: 'the serial line; works without network in the guest',
    group: CONNECT,
    load: async () => (await import('./commands/console.ts')).serialConsole,
  },
  {
    name: 'forward',
    summary: 'reach ports of an allocation from this machine',
    group: CONNECT,
    load: async () => (await import('./commands/forward.ts')).forward,
  },
  {
    name: 'ssh-config',
    summary: 'make ssh, scp, rsync and editors know your allocations',
    group: CONNECT,
    load: async () => (await import('./commands/ssh-config.ts')).sshConfigCommand,
  },
  {
    name: 'ssh-proxy',
    summary: 'what ssh runs to reach an allocation',
    group: CONNECT,
    hidden: true,
    load: async () => (await import('./commands/ssh.ts')).sshProxy,
  },
  {
    name: 'token',
    summary: 'your API tokens',
    group: ACCESS,
    load: async () => (await import('./commands/token.ts')).token,
  },
  {
    name: 'web-session',
    summary: 'browsers that you are signed in with',
    group: ACCESS,
    load: async () => (await import('./commands/web-session.ts')).webSession,
  },
  {
    name: 'service-account',
    summary: 'accounts for programs',
    group: ACCESS,
    load: async () => (await import('./commands/service-account.ts')).serviceAccount,
  },
  {
    name: 'ssh-key',
    summary: 'your SSH public keys',
    group: ACCESS,
    load: async () => (await import('./commands/ssh-key.ts')).sshKey,
  },
  {
    name: 'capacity',
    summary: 'what could be launched now',
    group: CATALOG,
    load: async () => (await import('./commands/capacity.ts')).capacity,
  },
  {
    name: 'sku',
    summary: 'what can be launched, with prices',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).sku,
  },
  {
    name: 'region',
    summary: 'where it can be launched',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).region,
  },
  {
    name: 'image',
    summary: 'operating system images',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).image,
  },
  {
    name: 'events',
    summary: 'events of a project, as they happen with --follow',
    group: OBSERVE,
    load: async () => (await import('./commands/events.ts')).events,
  },
  {
    name: 'usage',
    summary: 'charged time and cost',
    group: OBSERVE,
    load: async () => (await import('./commands/capacity.ts')).usage,
  },
  {
    name: 'workflow-run',
    summary: 'progress of long work',
    group: OBSERVE,
    load: async () => (await import('./commands/workflow-run.ts')).workflowRun,
  },
  {
    name: 'trace',
    summary: 'follow one id through everything that happened',
    group: OBSERVE,
    load: async () => (await import('./commands/trace.ts')).trace,
  },
  {
    name: 'audit',
    summary: 'who did what in an organization',
    group: OBSERVE,
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  {
    name: 'logs',
    summary: 'log lines of the platform by correlation id or node',
    group: OPERATE,
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  {
    name: 'admin',
    summary: 'run the platform',
    group: OPERATE,
    load: async () => (await import('./commands/admin.ts')).admin,
  },
];

const FIRST_STEPS = `
First steps:
  $ gpuaas login            sign in (on a laptop: gpuaas login --dev)
  $ gpuaas whoami           see your organizations and projects
  $ gpuaas sku list         see what can be launched and what it costs
  $ gpuaas launch --help    launch it

gpuaas <command> --help says more.
Output is JSON when it does not go to a terminal.`;

/** The words of the command line that are neither flags nor values of global flags. */
export const wordsOf = (argv: readonly string[]): string[] => {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) words.push(word);
    else if (Object.entries(GLOBAL_FLAGS).some(([name, flag]) => flag.kind === 'text' && word === `--${name}`)) index++;
  }
  return words;
};

/** Builds the program with the one noun that the command line names; the others are known by name and summary. */
export const createProgram = async (
  argv: readonly string[],
  execute: Execute,
  { stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>,
): Promise<Commander> => {
  const words = wordsOf(argv);
  const wanted = words[0] === 'help' ? words[1] : words[0];
  const program = new Commander('gpuaas')
    .description('GPU capacity from your own cloud.')
    .usage('<command> [options]')
    .version(VERSION, '--version', 'version of this tool')
    .helpOption('-h, --help', 'help for a command')
    .showSuggestionAfterError()
    .configureHelp({ helpWidth: 80 })
    .addHelpText('after', FIRST_STEPS);
  program.addHelpCommand(
    new Commander('help').arguments('[command]').description('help for a command').helpGroup(TOOL),
  );
  program.exitOverride().configureOutput({
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    outputError: () => undefined,
  });
  addGlobalFlags(program);
  for (const group of [WORK, CONNECT, ACCESS, CATALOG, OBSERVE, OPERATE, TOOL]) {
    for (const entry of ENTRIES.filter((candidate) => candidate.group === group)) {
      const target =
        entry.name === wanted
          ? install(program, await entry.load(), execute)
          : program
              .command(entry.name, { hidden: entry.hidden === true })
              .description(entry.summary)
              .allowUnknownOption();
      target.helpGroup(group);
    }
  }
  return program;
};
