/** User data comes from a file, because it has many lines. */
import { UsageError } from './exit.ts';
import { type Io, readNamed } from './io.ts';

export const userDataFrom = async (io: Io, file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  const content = await readNamed(io, file);
  if (content === null)
    throw new UsageError(`${file} cannot be read.`, 'Give --user-data a file with a cloud-config or a script.');
  return content;
};
