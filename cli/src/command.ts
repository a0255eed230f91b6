/**
 * A command is a value that declares its arguments and flags and a function that runs it. The types of both follow from
 * the value, help and completion are generated from it, and commander does the parsing.
 */
import { Argument, type Command as Commander, InvalidArgumentError, Option } from 'commander';
import type { Cli } from './context.ts';

export type Flag = Readonly<{
  kind: 'text' | 'toggle' | 'integer' | 'choice' | 'list' | 'duration';
  summary: string;
  placeholder?: string;
  values?: readonly string[];
  short?: string;
  required?: true;
}>;

type Text = { kind: 'text' };
export const text = (summary: string, placeholder = 'text') => ({ kind: 'text', summary, placeholder }) as const;
export const toggle = (summary: string) => ({ kind: 'toggle', summary }) as const;
export const integer = (summary: string, placeholder = 'n') => ({ kind: 'integer', summary, placeholder }) as const;
export const duration = (summary: string) => ({ kind: 'duration', summary, placeholder: 'time' }) as const;
export const list = (summary: string, placeholder: string) => ({ kind: 'list', summary, placeholder }) as const;
export const choice = <const V extends readonly string[]>(summary: string, values: V) =>
  ({ kind: 'choice', summary, values, placeholder: 'word' }) as const;
export const required = <F extends Flag>(flag: F) => ({ ...flag, required: true }) as const;

type ValueOf<F> = F extends { kind: 'choice'; values: infer V extends readonly string[] }
  ? V[number]
  : F extends { kind: 'toggle' }
    ? boolean
    : F extends { kind: 'integer' | 'duration' }
      ? number
      : F extends { kind: 'list' }
        ? string[]
        : F extends Text
          ? string
          : never;

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
/** `--no-x` is parsed as the value `false` of `--x`; if both are given, the last one wins. */
export type FlagsOf<F> = {
  [K in keyof F & string as K extends `no-${string}` ? never : Camel<K>]:
    | ValueOf<F[K]>
    | (F[K] extends { required: true } ? never : undefined)
    | (`no-${K}` extends keyof F ? false : never);
};
/** A name that ends in `?` is optional; one that ends in `...` takes all remaining words, possibly none. */
export type ArgsOf<A> = {
  [K in keyof A & string as K extends `${infer N}?` | `${infer N}...` ? N : K]: K extends `${string}...`
    ? string[]
    : K extends `${string}?`
      ? string | undefined
      : string;
};
type Args = Record<string, string | string[] | undefined>;

type Spec = Readonly<{
  name: string;
  summary: string;
  /** Adds --org, or --org and --project. */
  scope?: 'organization' | 'project';
  examples?: readonly string[];
  /** For programs that the CLI starts itself: in no help and no completion. */
  hidden?: true;
}>;

/** An exit code other than 0 without an error: that of a program that was run for the user. */
type Outcome = Promise<number> | Promise<void>;

export type Command = Spec &
  Readonly<{
    args: Readonly<Record<string, string>>;
    flags: Readonly<Record<string, Flag>>;
    run(cli: Cli, input: { args: Args; flags: Record<string, unknown> }): Outcome;
  }>;

export type Group = Readonly<{ name: string; summary: string; commands: readonly (Command | Group)[] }>;

export const command = <
  const A extends Readonly<Record<string, string>> = Record<never, never>,
  const F extends Readonly<Record<string, Flag>> = Record<never, never>,
>(
  spec: Spec & Readonly<{ args?: A; flags?: F; run(cli: Cli, input: { args: ArgsOf<A>; flags: FlagsOf<F> }): Outcome }>,
): Command => ({ ...spec, args: spec.args ?? {}, flags: spec.flags ?? {} }) as unknown as Command;

const wholeNumber = (raw: string): number => {
  if (!/^\d{1,15}$/.test(raw)) throw new InvalidArgumentError('Use a whole number.');
  return Number(raw);
};

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `30m`, `12h`, `7d` as milliseconds. */
export const parseDuration = (raw: string): number => {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(raw) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? 0);
  if (!(ms > 0)) throw new InvalidArgumentError('Use a duration like 90s, 30m, 12h or 7d.');
  return ms;
};

/** The largest unit that expresses it exactly, so that parseDuration returns the same value. */
export const formatDuration = (ms: number): string => {
  const [unit = 's', unitMs = 1_000] = Object.entries(UNITS_MS).findLast(([, size]) => ms % size === 0) ?? [];
  return `${Math.round(ms / unitMs)}${unit}`;
};

const optionOf = (name: string, flag: Flag): Option => {
  const value = flag.kind === 'toggle' ? '' : ` <${flag.placeholder ?? 'value'}>`;
  const option = new Option(`${flag.short ? `-${flag.short}, ` : ''}--${name}${value}`, flag.summary);
  if (flag.required) option.makeOptionMandatory();
  if (flag.kind === 'choice') option.choices([...(flag.values ?? [])]);
  if (flag.kind === 'integer') option.argParser(wholeNumber);
  if (flag.kind === 'duration') option.argParser(parseDuration);
  if (flag.kind === 'list') option.argParser((raw: string, before: string[] | undefined) => [...(before ?? []), raw]);
  return option;
};

/** Flags that every command accepts. */
export const GLOBAL_FLAGS = {
  json: toggle('Print JSON, also for errors'),
  'no-json': toggle('Print tables, also into a pipe'),
  profile: text('Profile of the configuration file to use', 'name'),
  url: text('Address of the API', 'url'),
  'correlation-id': text('ID that logs and the audit log carry for this command', 'id'),
} as const;

const SCOPE_FLAGS = {
  organization: { org: text('Organization, by name or ID', 'name') },
  project: { org: text('Organization, by name or ID', 'name'), project: text('Project, by name or ID', 'name') },
} as const;

export const flagsOf = (spec: Command): Readonly<Record<string, Flag>> => ({
  ...(spec.scope === undefined ? {} : SCOPE_FLAGS[spec.scope]),
  ...spec.flags,
});

export const isGroup = (node: Command | Group): node is Group => 'commands' in node;

export const addGlobalFlags = (target: Commander): void => {
  for (const [name, flag] of Object.entries(GLOBAL_FLAGS))
    target.addOption(optionOf(name, flag).helpGroup('Global options:'));
};

export type Execute = (spec: Command, input: { args: Args; flags: Record<string, unknown> }) => Promise<void>;

const argumentOf = (key: string, summary: string): Argument => {
  if (key.endsWith('...')) return new Argument(`[${key}]`, summary);
  return new Argument(key.endsWith('?') ? `[${key.slice(0, -1)}]` : `<${key}>`, summary);
};

/** Adds a command or a group with all its subcommands to a commander command. */
export const install = (parent: Commander, node: Command | Group, execute: Execute): Commander => {
  const hidden = 'hidden' in node && node.hidden === true;
  const target = parent.command(node.name, { hidden }).description(node.summary);
  if (isGroup(node)) {
    target.helpCommand(false);
    for (const child of node.commands) install(target, child, execute);
    return target;
  }
  for (const [key, summary] of Object.entries(node.args)) target.addArgument(argumentOf(key, summary));
  for (const [name, flag] of Object.entries(flagsOf(node))) target.addOption(optionOf(name, flag));
  addGlobalFlags(target);
  if (node.examples)
    target.addHelpText('after', `\nExamples:\n${node.examples.map((line) => `  $ ${line}`).join('\n')}`);
  target.action(async (...received: unknown[]) => {
    const values = received.slice(0, Object.keys(node.args).length) as (string | string[] | undefined)[];
    const names = Object.keys(node.args).map((key) => key.replace(/(\?|\.\.\.)$/, ''));
    const args = Object.fromEntries(names.map((name, index) => [name, values[index]]));
    await execute(node, { args, flags: target.optsWithGlobals() });
  });
  return target;
};
