/**
 * Runs a unit: one file alone, or several in one process. Whatever goes wrong in a shared process is looked for again
 * file by file, so that only a file alone is judged to have failed. What fails beside its neighbours and not alone is a
 * finding about the test, which depends on them.
 */
import { type FileResult, type RunOptions, runFile, runShared, type SharedResult } from './run-file.ts';
import type { Unit } from './sharing.ts';

/** A file that fails only after others in one process. */
export type Finding = Readonly<{ file: string; after: readonly string[]; detail: string }>;
export type UnitResult = Readonly<{ results: readonly FileResult[]; findings: readonly Finding[] }>;

const faultOf = ({ problem, tests }: FileResult): string | undefined =>
  tests.find((test) => test.outcome === 'failed')?.detail ?? problem;

/** Files that did not start, or did not pass; all when the process failed and no file did. */
const suspectsOf = (unit: Unit, { results, problem }: SharedResult): readonly string[] => {
  const passed = new Set(results.filter((result) => faultOf(result) === undefined).map(({ file }) => file));
  const suspects = unit.filter((file) => !passed.has(file));
  return suspects.length === 0 && problem !== undefined ? unit : suspects;
};

export const runUnit = async (unit: Unit, options: RunOptions): Promise<UnitResult> => {
  const [only] = unit;
  if (only !== undefined && unit.length === 1) return { results: [await runFile(only, options)], findings: [] };
  const shared = await runShared(unit, options);
  if (options.signal.aborted) return { results: shared.results, findings: [] };
  const suspects = suspectsOf(unit, shared);
  const alone: FileResult[] = [];
  for (const file of suspects) alone.push(await runFile(file, options));
  const failsAlone = new Set(alone.filter((result) => faultOf(result) !== undefined).map(({ file }) => file));
  const faults = shared.results.filter(({ file }) => suspects.includes(file) && !failsAlone.has(file));
  const findings = faults.flatMap((result): Finding[] => {
    const detail = faultOf(result);
    return detail === undefined ? [] : [{ file: result.file, after: unit.slice(0, unit.indexOf(result.file)), detail }];
  });
  const last = unit.at(-1);
  if (last !== undefined && shared.problem !== undefined && findings.length === 0 && failsAlone.size === 0)
    findings.push({ file: last, after: unit.slice(0, -1), detail: `The process ${shared.problem}.\n${shared.output}` });
  const kept = shared.results.filter(({ file }) => !suspects.includes(file));
  return { results: [...kept, ...alone], findings };
};
