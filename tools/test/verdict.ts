/** The result of a run: the counts of the closing line, the failures and the skips. Values in, values out. */
import type { ReportedTest } from './reporter.ts';
import type { FileResult } from './run-file.ts';

export type Skip = Readonly<{ file: string; name: string; reason: string }>;
export type Failure = Readonly<{ file: string; name: string; location: string; detail: string }>;

export type FileVerdict = Readonly<{
  file: string;
  passed: number;
  failures: readonly Failure[];
  skips: readonly Skip[];
  durationMs: number;
}>;

/**
 * These may be skipped anywhere: recordings of other hosts, a GPU, images that take longer to build than a run may,
 * the history that a shallow clone lacks, and Java programs where Java or Maven is missing. A missing Debian package or
 * privilege is none of them.
 */
export const SKIPPABLE = ['recordings', 'gpu', 'prebuilt', 'history', 'maven'] as const;

export const mayBeSkipped = (reason: string): boolean => SKIPPABLE.some((prefix) => reason.startsWith(`${prefix}: `));

export const judgeFile = (result: FileResult, options: Readonly<{ requireAll: boolean }>): FileVerdict => {
  const { file } = result;
  const isRefused = (test: ReportedTest) =>
    test.outcome === 'skipped' && options.requireAll && !mayBeSkipped(test.detail);
  const failures: Failure[] = result.tests
    .filter((test) => test.outcome === 'failed' || isRefused(test))
    .map((test) => ({
      file,
      name: test.name,
      location: test.location,
      detail: isRefused(test)
        ? `skipped (${test.detail || 'no reason given'}), which is not allowed here`
        : test.detail,
    }));
  if (result.problem !== undefined)
    failures.push({ file, name: `this file ${result.problem}`, location: '', detail: result.output.trim() });
  return {
    file,
    passed: result.tests.filter((test) => test.outcome === 'passed').length,
    failures,
    skips: result.tests
      .filter((test) => test.outcome === 'skipped' && !isRefused(test))
      .map((test) => ({ file, name: test.name, reason: test.detail || 'no reason given' })),
    durationMs: result.durationMs,
  };
};

export type Totals = Readonly<{ passed: number; failed: number; skipped: number }>;

export const sum = (verdicts: readonly FileVerdict[]): Totals => ({
  passed: verdicts.reduce((total, verdict) => total + verdict.passed, 0),
  failed: verdicts.reduce((total, verdict) => total + verdict.failures.length, 0),
  skipped: verdicts.reduce((total, verdict) => total + verdict.skips.length, 0),
});

export const closingLine = (totals: Totals): string =>
  `${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`;
