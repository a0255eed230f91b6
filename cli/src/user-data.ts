/** User data comes from a file: it is a text of many lines. */
import { readFile } from 'node:fs/promises';
import { UsageError } from './exit.ts';

export const userDataFrom = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  return readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} cannot be read.`, 'Give --user-data a file with a cloud-config or a script.');
  });
};
