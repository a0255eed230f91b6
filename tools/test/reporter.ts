/**
 * Runs inside each test process: writes the events as JSON lines. Errors are formatted here, where they are still
 * complete. A test of which only subtests failed is not reported again. In a process of several files, shared.ts marks
 * by tests of its own where each file starts and ends.
 */
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

export type TestOutcome = 'passed' | 'failed' | 'skipped';

export type ReportedTest = Readonly<{
  kind: 'test';
  name: string;
  outcome: TestOutcome;
  /** Why it was skipped, or the failure in full. */
  detail: string;
  location: string;
}>;

/** The last line of a process that ended normally; without it the tests were interrupted. */
export type ReportedEnd = Readonly<{ kind: 'end' }>;
/** The tests that follow are those of this file, until the next one starts. */
export type ReportedFile = Readonly<{ kind: 'file'; file: string; startedAt: number }>;
/** Its tests are through. */
export type ReportedFileEnd = Readonly<{ kind: 'file-end' }>;
export type ReportedLine = ReportedTest | ReportedEnd | ReportedFile | ReportedFileEnd;

/** Names of the tests that mark the start and the end of a file; no other test has a name like these. */
const START_MARK = '\u0000file starts ';
export const END_MARK = '\u0000file ends';
export const startMark = (file: string): string => START_MARK + JSON.stringify({ file, startedAt: Date.now() });

type Finished = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

const skipReason = (data: Finished['data']): string | undefined => {
  if (data.skip !== undefined && data.skip !== false) return data.skip === true ? '' : String(data.skip);
  if (data.todo !== undefined && data.todo !== false) return 'todo';
  return undefined;
};

const toTest = (event: Finished, ancestors: readonly string[]): ReportedTest | undefined => {
  const { data } = event;
  const reason = skipReason(data);
  const said = { kind: 'test', name: [...ancestors.slice(0, data.nesting), data.name].join(' > ') } as const;
  const location = data.file === undefined ? '' : `${data.file}:${data.line}:${data.column}`;
  if (reason !== undefined) return { ...said, outcome: 'skipped', detail: reason, location };
  if (event.type === 'test:pass')
    return data.details.type === 'suite' ? undefined : { ...said, outcome: 'passed', detail: '', location };
  const { error } = event.data.details;
  if ((error as { failureType?: string }).failureType === 'subtestsFailed') return undefined;
  return { ...said, outcome: 'failed', detail: inspect(error.cause ?? error), location };
};

const toFile = (event: Finished): ReportedFile | ReportedFileEnd | undefined => {
  if (event.type !== 'test:pass' || event.data.nesting > 0) return undefined;
  const { name } = event.data;
  if (name === END_MARK) return { kind: 'file-end' };
  if (!name.startsWith(START_MARK)) return undefined;
  return { kind: 'file', ...(JSON.parse(name.slice(START_MARK.length)) as Omit<ReportedFile, 'kind'>) };
};

// biome-ignore lint/style/noDefaultExport: node:test takes a reporter from the default export.
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const names: string[] = [];
  for await (const event of source) {
    if (event.type === 'test:start') names[event.data.nesting] = event.data.name;
    else if (event.type === 'test:pass' || event.type === 'test:fail') {
      const line = toFile(event) ?? toTest(event, names);
      if (line) yield `${JSON.stringify(line satisfies ReportedLine)}\n`;
    } else if (event.type === 'test:summary') yield `${JSON.stringify({ kind: 'end' } satisfies ReportedLine)}\n`;
  }
}
