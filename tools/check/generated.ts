/** Generated files are committed; a fresh run must not differ. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Generated, ROOT } from '../gen/file.ts';
import { contractFiles, schemaFiles, workflowFiles } from '../gen/index.ts';
import { type Check, fail, type Outcome, pass } from './check.ts';

/** The first difference of two texts: the line and both versions. */
export const firstDifference = (committed: string, fresh: string): string => {
  const [now, next] = [committed.split('\n'), fresh.split('\n')];
  const at = next.findIndex((line, index) => line !== now[index]);
  const index = at === -1 ? next.length : at;
  return `line ${index + 1}\n  committed: ${now[index] ?? '(end of file)'}\n  fresh:     ${next[index] ?? '(end of file)'}`;
};

const compare = async (files: readonly Generated[]): Promise<Outcome> => {
  const findings: string[] = [];
  for (const { path, text } of files) {
    const committed = await readFile(join(ROOT, path), 'utf8').catch(() => '');
    if (committed !== text) findings.push(`${path} differs from a fresh run at ${firstDifference(committed, text)}`);
  }
  if (findings.length === 0) return pass(files.map((file) => file.path).join(', '));
  return fail('run `make gen` and commit the result', findings.join('\n'));
};

export const contractDrift: Check = { name: 'contract drift', run: async () => compare(await contractFiles()) };
export const workflowDrift: Check = {
  name: 'workflow drift',
  run: async () => {
    try {
      return await compare(await workflowFiles());
    } catch (err) {
      return fail('a recorded version has changed or is missing', err instanceof Error ? err.message : String(err));
    }
  },
};
export const schemaDrift: Check = { name: 'schema drift', run: async () => compare(await schemaFiles()) };
