/**
 * Import rules. dependency-cruiser reads TypeScript through a compiler that it finds automatically; without one it
 * reads nothing and reports no error. So the check also requires that every source file was read and that imports were
 * seen.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../gen/file.ts';
import { type Check, fail, type Outcome, pass, runTool, verdict } from './check.ts';
import { sourceFiles } from './files.ts';

const FOLDERS = ['contract', 'kit', 'scheduler', 'server', 'node-agent', 'sdk', 'cli', 'console', 'apps'];
const WORKSHOP = ['lab', 'e2e', 'bench', 'tools'];
const DEPENDENCIES_MIN = 200;

type Violation = Readonly<{ from: string; to: string; rule: Readonly<{ name: string }>; comment?: string }>;
type Cruise = Readonly<{
  modules: readonly Readonly<{ source: string }>[];
  summary: Readonly<{ violations: readonly Violation[]; totalDependenciesCruised: number }>;
}>;

/** The findings; `paths` are files or directories inside `root`. */
export const cruise = async (paths: readonly string[], root: string = ROOT): Promise<Cruise> => {
  const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...paths];
  const { stdout, output } = await runTool('dependency-cruiser/bin/dependency-cruiser.mjs', args, root);
  try {
    return JSON.parse(stdout) as Cruise;
  } catch {
    throw new Error(`dependency-cruiser gave no result:\n${output}`);
  }
};

const judge = (found: Cruise, expected: readonly string[]): Outcome => {
  const read = new Set(found.modules.map((module) => module.source));
  const unread = expected.filter((file) => !read.has(file));
  const { violations, totalDependenciesCruised: count } = found.summary;
  if (unread.length > 0) return fail('files were not read', unread.join('\n'));
  if (count < DEPENDENCIES_MIN) return fail('imports were not read', `only ${count} imports in ${read.size} modules`);
  const findings = violations.map(
    ({ rule, from, to, comment }) => `${rule.name}: ${from} -> ${to}${comment ? `\n  ${comment}` : ''}`,
  );
  return findings.length > 0 ? verdict(findings, '') : pass(`${expected.length} files, ${count} imports`);
};

export const importRules: Check = {
  name: 'import rules',
  run: async () => {
    const folders = [...FOLDERS, ...WORKSHOP].filter((folder) => existsSync(join(ROOT, folder)));
    const files = (await sourceFiles()).filter(
      (file) => folders.includes(file.split('/')[0] ?? '') && !file.endsWith('.d.ts'),
    );
    return judge(await cruise(folders), files);
  },
};
