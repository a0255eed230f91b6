import type { Overrides } from './api.ts';

/** One command line and the world it runs in. */
export type Case = Readonly<{
  name: string;
  args: readonly string[];
  answers?: Overrides;
  env?: Readonly<Record<string, string>>;
  /** Content of config.toml; URL stands for the address of the API. */
  config?: string;
  /** Files in the folder that the command runs in. */
  files?: Readonly<Record<string, string>>;
  stdin?: string;
  /** Send SIGINT when standard output or standard error has this text. */
  interruptAfter?: string;
}>;
