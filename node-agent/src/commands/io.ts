/** The input and output of an agent command, so that tests can run it without a process. */
import { ConfigError, type Env } from '@gpuaas/kit';
import { readEnvFile, readSettings, type Settings } from '../config.ts';

export type Io = Readonly<{
  env: Env;
  out(text: string): void;
  err(text: string): void;
  /** The first line of standard input. A terminal shows the prompt and not what is typed. */
  readLine(prompt: string): Promise<string>;
}>;

/** An error in the arguments of the command. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export const COMMON_OPTIONS = {
  'node-api-url': { type: 'string' },
  'ca-sha256': { type: 'string' },
  state: { type: 'string' },
  'env-file': { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

type CommonValues = Readonly<{
  'node-api-url'?: string | undefined;
  'ca-sha256'?: string | undefined;
  state?: string | undefined;
  'env-file'?: string | undefined;
}>;

export const settingsOf = async (io: Io, values: CommonValues, envFile: string): Promise<Settings> => {
  const { 'node-api-url': url, 'ca-sha256': ca_sha256, state } = values;
  return readSettings(
    { ...(await readEnvFile(values['env-file'] ?? envFile)), ...io.env },
    {
      ...(url === undefined ? {} : { url }),
      ...(ca_sha256 === undefined ? {} : { ca_sha256 }),
      ...(state === undefined ? {} : { state }),
    },
  );
};

export const needed = <T>(value: T | undefined, name: string): T => {
  if (value === undefined) throw new ConfigError(`${name} is not set.`);
  return value;
};
