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
  /** For programs that the CLI starts itself: in no help and no completion. */
  hidden?: true;
  load: () => Promise<Command | Group>;
}>;

const WORK = 'Work:';
const CONNECT = 'Connect:';
const ACCESS = 'Access:';
const CATALOG = 'Catalog:';
const OBSERVE = 'Observe:';
const OPERATE = 'Operators:';
const TOOL = 'CLI:';

export const ENTRIES: readonly Entry[] = [
  { name: 'login', summary: 'Sign in', group: TOOL, load: async () => (await import('./commands/login.ts')).login },
  {
    name: 'logout',
    summary: 'Sign out and remove the credential from a profile',
    group: TOOL,
    load: async () => (await import('./commands/login.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'Show your account, organizations and projects',
    group: TOOL,
    load: async () => (await import('./commands/whoami.ts')).whoami,
  },
  {
    name: 'doctor',
    summary: 'Check connection, clock, sign-in and configuration',
    group: TOOL,
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'api',
    summary: 'Call any path of the API',
    group: TOOL,
    load: async () => (await import('./commands/api.ts')).api,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for bash, zsh or fish',
    group: TOOL,
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  {
    name: 'version',
    summary: 'Show the version of this CLI',
    group: TOOL,
    load: async () => (await import('./commands/version.ts')).version,
  },
  {
    name: 'allocation',
    summary: 'Launch, watch and release GPUs',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).allocation,
  },
  {
    name: 'launch',
    summary: 'Alias of allocation create',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.launch,
  },
  {
    name: 'ls',
    summary: 'Alias of allocation list',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.ls,
  },
  {
    name: 'get',
    summary: 'Alias of allocation get',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.get,
  },
  {
    name: 'release',
    summary: 'Alias of allocation release',
    group: WORK,
    load: async () => (await import('./commands/allocation.ts')).aliases.release,
  },
  {
    name: 'quota',
    summary: 'Show GPU limits and request larger ones',
    group: WORK,
    load: async () => (await import('./commands/capacity.ts')).quota,
  },
  {
    name: 'project',
    summary: 'Manage projects and their members',
    group: WORK,
    load: async () => (await import('./commands/project.ts')).project,
  },
  {
    name: 'organization',
    summary: 'Manage organizations and their members',
    group: WORK,
    load: async () => (await import('./commands/organization.ts')).organization,
  },
  {
    name: 'invitation',
    summary: 'Invite people to an organization',
    group: WORK,
    load: async () => (await import('./commands/invitation.ts')).invitation,
  },
  {
    name: 'ssh',
    summary: 'Connect with SSH, or run a remote command',
    group: CONNECT,
    load: async () => (await import('./commands/ssh.ts')).ssh,
  },
  {
    name: 'terminal',
    summary: 'Open a shell without an SSH key',
    group: CONNECT,
    load: async () => (await import('./commands/console.ts')).terminal,
  },
  {
    name: 'console',
    summary: 'Open the serial console; needs no network in the guest OS',
    group: CONNECT,
    load: async () => (await import('./commands/console.ts')).serialConsole,
  },
  {
    name: 'forward',
    summary: 'Forward local ports to an allocation',
    group: CONNECT,
    load: async () => (await import('./commands/forward.ts')).forward,
  },
  {
    name: 'ssh-config',
    summary: 'Configure SSH access to allocations',
    group: CONNECT,
    load: async () => (await import('./commands/ssh-config.ts')).sshConfigCommand,
  },
  {
    name: 'ssh-proxy',
    summary: 'ProxyCommand of ssh',
    group: CONNECT,
    hidden: true,
    load: async () => (await import('./commands/ssh.ts')).sshProxy,
  },
  {
    name: 'token',
    summary: 'Manage your API tokens',
    group: ACCESS,
    load: async () => (await import('./commands/token.ts')).token,
  },
  {
    name: 'web-session',
    summary: 'Manage your browser sessions',
    group: ACCESS,
    load: async () => (await import('./commands/web-session.ts')).webSession,
  },
  {
    name: 'service-account',
    summary: 'Manage service accounts for programs',
    group: ACCESS,
    load: async () => (await import('./commands/service-account.ts')).serviceAccount,
  },
  {
    name: 'ssh-key',
    summary: 'Manage your SSH public keys',
    group: ACCESS,
    load: async () => (await import('./commands/ssh-key.ts')).sshKey,
  },
  {
    name: 'capacity',
    summary: 'Show capacity that is free now',
    group: CATALOG,
    load: async () => (await import('./commands/capacity.ts')).capacity,
  },
  {
    name: 'sku',
    summary: 'List SKUs with prices',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).sku,
  },
  {
    name: 'region',
    summary: 'List regions',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).region,
  },
  {
    name: 'image',
    summary: 'List operating system images',
    group: CATALOG,
    load: async () => (await import('./commands/catalog.ts')).image,
  },
  {
    name: 'events',
    summary: 'List or follow events of a project or an organization',
    group: OBSERVE,
    load: async () => (await import('./commands/events.ts')).events,
  },
  {
    name: 'usage',
    summary: 'Show charged time and cost',
    group: OBSERVE,
    load: async () => (await import('./commands/capacity.ts')).usage,
  },
  {
    name: 'workflow-run',
    summary: 'Show workflow runs of a project',
    group: OBSERVE,
    load: async () => (await import('./commands/workflow-run.ts')).workflowRun,
  },
  {
    name: 'trace',
    summary: 'Show the timeline of one ID',
    group: OBSERVE,
    load: async () => (await import('./commands/trace.ts')).trace,
  },
  {
    name: 'audit',
    summary: 'Show the audit log of an organization',
    group: OBSERVE,
    load: async () => (await import('./commands/audit.ts')).audit,
  },
  {
    name: 'logs',
    summary: 'Show control plane logs by correlation ID or node',
    group: OPERATE,
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  {
    name: 'admin',
    summary: 'Operate the control plane',
    group: OPERATE,
    load: async () => (await import('./commands/admin.ts')).admin,
  },
];

const FIRST_STEPS = `
First steps:
  $ gpuaas login            sign in (on a laptop: gpuaas login --dev)
  $ gpuaas whoami           show your organizations and projects
  $ gpuaas sku list         list SKUs with prices
  $ gpuaas launch --help    see how to launch

Run gpuaas <command> --help for details.
Output is JSON unless it goes to a terminal.`;

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

/** Builds the program with the one noun that the command line names; the others are listed by name and summary. */
export const createProgram = async (
  argv: readonly string[],
  execute: Execute,
  { stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>,
): Promise<Commander> => {
  const words = wordsOf(argv);
  const wanted = words[0] === 'help' ? words[1] : words[0];
  const program = new Commander('gpuaas')
    .description('Launch and manage GPUs of a GPUaaS cloud.')
    .usage('<command> [options]')
    .version(VERSION, '--version', 'Show the version of this CLI')
    .helpOption('-h, --help', 'Show help for a command')
    .showSuggestionAfterError()
    .configureHelp({ helpWidth: 80 })
    .addHelpText('after', FIRST_STEPS);
  program.addHelpCommand(
    new Commander('help').arguments('[command]').description('Show help for a command').helpGroup(TOOL),
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
