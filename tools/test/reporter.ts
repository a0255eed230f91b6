/**
 * Runs inside each test process: writes the events as JSON lines. Errors are formatted here, where they are still
 * complete. A test of which only subtests failed is not reported again.
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
export type ReportedLine = ReportedTest | ReportedEnd;

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

// biome-ignore lint/style/noDefaultExport: node:test takes a reporter from the default export.
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const names: string[] = [];
  for await (const event of source) {
    if (event.type === 'test:start') names[event.data.nesting] = event.data.name;
    else if (event.type === 'test:pass' || event.type === 'test:fail') {
      const line = toTest(event, names);
      if (line) yield `${JSON.stringify(line satisfies ReportedLine)}\n`;
    } else if (event.type === 'test:summary') yield `${JSON.stringify({ kind: 'end' } satisfies ReportedLine)}\n`;
  }
}
