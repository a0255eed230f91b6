/** Traces one ID: everything recorded under it as one timeline, with the first failure on top. */
import type { Operations } from '@gpuaas/sdk';
import { command } from '../command.ts';
import type { Cli } from '../context.ts';
import { type Column, shortDuration } from '../table.ts';

type Trace = Operations['adminTraceGet']['response'];
type Entry = Trace['entries'][number];

const LANES: Readonly<Record<Entry['host_role'], string>> = {
  platform_control: 'control',
  app_control: 'app',
  worker_compute: 'host',
};

const SECOND_MS = 1_000;

/** To the millisecond, because readers look for the order of events. */
const momentOf = (time: string): string => `${time.slice(5, 10)} ${time.slice(11, 23)}Z`;

/** The IDs in a path are the traced ones; the rest of the path says more. */
const titleOf = ({ title, source }: Entry): string =>
  source === 'request' ? title.replaceAll(/_[0-9a-hjkmnp-tv-z]{26}/g, '_…') : title;

/** The duration, if it is more than a second. */
const tookOf = ({ at, since }: Entry): string | null => {
  const ms = since === null ? 0 : Date.parse(at) - Date.parse(since);
  return ms < SECOND_MS ? null : shortDuration(ms);
};

const sentenceOf = (entry: Entry): string => {
  const { detail, host_name } = entry;
  const facts = [host_name, tookOf(entry)].filter((fact) => fact !== null);
  const where = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
  return `${titleOf(entry)}${where}${detail === null ? '' : `. ${detail}`}`;
};

const columns: readonly Column<Entry>[] = [
  { header: ' ', value: ({ is_failure }) => (is_failure ? '!' : ' ') },
  { header: 'TIME', value: ({ at }) => momentOf(at) },
  { header: 'LANE', value: ({ host_role }) => LANES[host_role] },
  { header: 'SOURCE', value: ({ source }) => source },
  { header: 'WHAT', value: sentenceOf, shrink: 'wrap' },
];

const subjectOf = ({ kind, id, name, state }: Trace['subjects'][number]): string =>
  `${kind.replaceAll('_', ' ')} ${name ?? id}${state === null ? '' : `, ${state.replaceAll('_', ' ')}`}`;

/** The clock offset, in seconds if it is more than one. */
const skewOf = ({ host_name, skew_ms }: Trace['clock_skews'][number]): string => {
  const ms = Math.abs(skew_ms);
  const off = ms >= SECOND_MS ? shortDuration(ms) : `${ms} ms`;
  return `The clock of ${host_name} is ${off} ${skew_ms >= 0 ? 'ahead' : 'behind'}; its times are corrected.`;
};

/** Tasks and runs are many and are shown in the timeline itself. */
const touched = ({ subjects, id }: Trace): string =>
  subjects
    .filter((subject) => subject.id === id || (subject.kind !== 'node_task' && subject.kind !== 'workflow_run'))
    .slice(0, 5)
    .map(subjectOf)
    .join('; ');

const show = (cli: Cli, trace: Trace): void => {
  const first = trace.entries.find(({ key }) => key === trace.first_failure_key);
  const about = touched(trace);
  cli.out.item(trace, {
    ...(first === undefined
      ? {}
      : { '! first failure': `${momentOf(first.at)} ${LANES[first.host_role]}: ${sentenceOf(first)}` }),
    'trace of': `${trace.kind.replaceAll('_', ' ')} ${trace.id}`,
    ...(about === '' ? {} : { about }),
    ...(trace.correlation_ids.every((id) => id === trace.id) ? {} : { 'correlation IDs': trace.correlation_ids }),
  });
  if (cli.out.json) return;
  cli.out.print('');
  if (trace.entries.length === 0) cli.out.say('No recent entries.');
  else cli.out.table(trace.entries, columns);
  const remarks = [
    ...(trace.is_truncated ? ['Not all entries are shown: only failures and the newest.'] : []),
    ...trace.clock_skews.map(skewOf),
    ...trace.gaps.map((gap) => `Missing: ${gap}`),
  ];
  if (remarks.length > 0) cli.out.print(['', ...remarks].join('\n'));
};

export const trace = command({
  name: 'trace',
  summary: 'Show one timeline for an ID within the project',
  scope: 'project',
  args: { id: 'Correlation ID, or ID of an allocation or workflow run' },
  examples: ['gpuaas trace alc_01k9zv3m8q4t6w2x5y7r0s1n3p'],
  run: async (cli, { args }) => {
    const params = { project_id: await cli.project() };
    show(cli, await (await cli.client()).traceGet({ params, query: { id: args.id } }, { signal: cli.signal }));
  },
});

export const adminTrace = command({
  name: 'trace',
  summary: 'Show one timeline for an ID across the control plane and hosts',
  args: { id: 'Correlation ID, or ID of an allocation, node, slot, task or workflow run' },
  examples: ['gpuaas admin trace c-01k9zv3m8q4t6w2x5y7r0s1n3p'],
  run: async (cli, { args }) => {
    show(cli, await (await cli.client()).adminTraceGet({ query: { id: args.id } }, { signal: cli.signal }));
  },
});
