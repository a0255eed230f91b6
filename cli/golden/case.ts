import type { Overrides } from './api.ts';

/** One command line and the environment it runs in. */
export type Case = Readonly<{
  name: string;
  args: readonly string[];
  answers?: Overrides;
  env?: Readonly<Record<string, string>>;
  /** Content of config.toml; URL is replaced by the address of the API. */
  config?: string;
  /** Files in the working directory of the command. */
  files?: Readonly<Record<string, string>>;
  stdin?: string;
  /** Send SIGINT once standard output or standard error contains this text. */
  interruptAfter?: string;
}>;
