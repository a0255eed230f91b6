/** The files of the repository as git sees them: tracked and still there, and new ones that are not ignored. */
import { execFile } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../gen/file.ts';

export const repositoryFiles = async (): Promise<readonly string[]> => {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  // Links are not read: recordings of hosts contain broken ones, and links to directories.
  const isFile = (file: string): boolean => lstatSync(join(ROOT, file), { throwIfNoEntry: false })?.isFile() === true;
  return stdout.split('\0').filter((file) => file !== '' && isFile(file));
};

export const sourceFiles = async (): Promise<readonly string[]> =>
  (await repositoryFiles()).filter((file) => /\.tsx?$/.test(file));

export const readText = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');
