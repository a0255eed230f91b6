/** The terminal output of a run: a line per file, failures in full, skips with their reasons, and the durations. */
import type { Finding } from './run-unit.ts';
import { TIERS, type Tier } from './select.ts';
import type { Failure, FileVerdict, Skip } from './verdict.ts';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const indent = (text: string, by = '    '): string => text.replaceAll(/^(?=.)/gm, by);

export const fileLine = (verdict: FileVerdict): string => {
  const counts = [
    `${verdict.passed} passed`,
    ...(verdict.failures.length > 0 ? [`${verdict.failures.length} failed`] : []),
    ...(verdict.skips.length > 0 ? [`${verdict.skips.length} skipped`] : []),
  ].join(', ');
  return `${verdict.failures.length > 0 ? 'FAIL' : 'ok  '} ${verdict.file}  ${counts}  ${seconds(verdict.durationMs)}`;
};

const failureText = (failure: Failure): string =>
  [
    `${failure.file}: ${failure.name}`,
    ...(failure.location ? [`  at ${failure.location}`] : []),
    ...(failure.detail ? [indent(failure.detail)] : []),
  ].join('\n');

export const failureList = (failures: readonly Failure[]): string =>
  failures.length === 0 ? '' : `\nFailed:\n\n${failures.map(failureText).join('\n\n')}`;

export const skipList = (skips: readonly Skip[]): string =>
  skips.length === 0
    ? ''
    : `\nSkipped:\n${skips.map((skip) => `  ${skip.file}: ${skip.name}\n    ${skip.reason}`).join('\n')}`;

const findingText = ({ file, after, detail }: Finding): string =>
  [
    `  ${file}`,
    indent(detail),
    ...(after.length > 0 ? ['    after', ...after.map((other) => `      ${other}`)] : []),
  ].join('\n');

/** Passed alone, failed in a shared process: the run passes, and the test needs a fix. */
export const findingList = (findings: readonly Finding[]): string =>
  findings.length === 0
    ? ''
    : `\nPassed alone, but failed in one process with other files:\n${findings.map(findingText).join('\n')}`;

const SLOWEST_MAX = 10;

/** The slowest files, and the elapsed time of each tier. */
export const timeList = (verdicts: readonly FileVerdict[], tierMs: Readonly<Partial<Record<Tier, number>>>): string => {
  const slowest = [...verdicts].sort((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_MAX);
  const tiers = TIERS.flatMap((tier) => (tierMs[tier] === undefined ? [] : `${tier} ${seconds(tierMs[tier])}`));
  return [
    '\nSlowest files:',
    ...slowest.map(({ file, durationMs }) => `  ${seconds(durationMs).padStart(8)}  ${file}`),
    `\nTime by tier: ${tiers.join(', ')}`,
  ].join('\n');
};
