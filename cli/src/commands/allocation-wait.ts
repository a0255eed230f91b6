/**
 * Waiting for an allocation. The allocation itself is polled until it reaches the wanted state or can no longer reach
 * it. Whatever ends the wait, the work continues and the output names the command that shows its progress.
 */
import { type Allocation, type ApiResponse, type TimelineEntry, wait } from '@gpuaas/sdk';
import { commandLine } from '../clean.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { explained } from '../progress.ts';
import { createSteps } from '../steps.ts';
import { powerSentenceOf, sentenceOf } from './allocation-view.ts';

export const GOALS = ['active', 'released', 'on', 'off'] as const;
export type Goal = (typeof GOALS)[number];

const WAIT_MS = 600_000;
/** Often enough to watch a percentage. */
const LOOK_MAX_MS = 2_000;

/** No power change is in progress, or none is possible. */
const rests = ({ state, power }: Allocation): boolean =>
  state !== 'requested' && state !== 'provisioning' && (power === null || power.workflow_run_id === null);

const hasEnded: Readonly<Record<Goal, (allocation: Allocation) => boolean>> = {
  active: ({ state }) => state !== 'requested' && state !== 'provisioning',
  released: ({ state, released_at }) => state === 'released' || state === 'release_failed' || released_at !== null,
  on: rests,
  off: rests,
};
const hasArrived: Readonly<Record<Goal, (allocation: Allocation) => boolean>> = {
  active: ({ state }) => state === 'active',
  released: ({ released_at }) => released_at !== null,
  on: ({ power }) => power?.state === 'on',
  off: ({ power }) => power?.state === 'off',
};

export type WaitedFor = Readonly<{
  id: string;
  goal: Goal;
  timeout: number | undefined;
  read: () => Promise<Allocation>;
  readTimeline?: () => Promise<readonly TimelineEntry[]>;
  /** Suggested commands for the user, without `gpuaas`. */
  resume: readonly string[];
  timeline: readonly string[];
  undo?: readonly string[];
}>;

const suggest = (cli: Cli, words: readonly string[]): string => commandLine(['gpuaas', ...words, ...cli.scope_words]);

/** Shows its steps until `until` holds. */
export const followAllocation = async (
  cli: Cli,
  waited: Omit<WaitedFor, 'goal'>,
  until: (allocation: Allocation) => boolean,
): Promise<Allocation> => {
  const steps = createSteps({ stream: cli.io.stderr, readTimeline: waited.readTimeline, describe: sentenceOf });
  const read = async () => {
    const allocation = await waited.read();
    await steps.update(allocation, until(allocation));
    return allocation;
  };
  const options = { until, timeoutMs: waited.timeout ?? WAIT_MS, intervalMaxMs: LOOK_MAX_MS, signal: cli.signal };
  try {
    return await wait(read, options);
  } catch (err) {
    const undo = waited.undo && `Release it: ${suggest(cli, waited.undo)}`;
    throw explained(err, { resume: suggest(cli, waited.resume), ...(undo === undefined ? {} : { undo }) });
  } finally {
    steps.end();
  }
};

export const waitForAllocation = (cli: Cli, waited: WaitedFor): Promise<Allocation> =>
  followAllocation(cli, waited, hasEnded[waited.goal]);

const wordsOf = (goal: Goal) => (goal === 'on' || goal === 'off' ? powerSentenceOf : sentenceOf);

/** Throws unless the allocation is in the wanted state, with its reason and the command for its timeline. */
export const assertArrived = (cli: Cli, allocation: Allocation, waited: WaitedFor): void => {
  if (hasArrived[waited.goal](allocation)) return;
  const sentence = sentenceOf(allocation);
  throw new CliError(
    'failure',
    `${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}`,
    `Timeline: ${suggest(cli, waited.timeline)}`,
  );
};

/**
 * The end of a long change: returns at once with the command that shows progress, or after the wait with the result.
 */
export const finish = async <T extends object>(
  cli: Cli,
  response: ApiResponse<T>,
  options: WaitedFor & Readonly<{ sentence: string; wait: boolean | undefined; dataOf: (at: Allocation) => T }>,
): Promise<void> => {
  if (!options.wait) {
    cli.out.done(options.sentence, response);
    if (!cli.out.json) cli.out.say(`Check progress: ${suggest(cli, options.resume)}`);
    return;
  }
  cli.out.say(`${options.sentence} correlation id ${response.correlation_id ?? 'unknown'}`);
  const allocation = await waitForAllocation(cli, options);
  if (cli.out.json) cli.out.done('', { ...response, data: options.dataOf(allocation) });
  else if (hasArrived[options.goal](allocation)) cli.out.print(wordsOf(options.goal)(allocation));
  assertArrived(cli, allocation, options);
};

/** The arguments for waiting on a tenant's own allocation. */
export const ownAllocation = (
  cli: Cli,
  params: { project_id: string; allocation_id: string },
  goal: Goal,
  timeout: number | undefined,
): WaitedFor => {
  const { allocation_id: id } = params;
  return {
    id,
    goal,
    timeout,
    read: async () => (await cli.client()).allocationGet({ params }, { signal: cli.signal }),
    readTimeline: async () => {
      const entries: TimelineEntry[] = [];
      const { pages } = await cli.client();
      for await (const entry of pages.allocationTimeline({ params }, { signal: cli.signal })) entries.push(entry);
      return entries;
    },
    resume: ['allocation', 'wait', id, ...(goal === 'active' ? [] : ['--for', goal])],
    timeline: ['allocation', 'timeline', id],
    ...(goal === 'active' ? { undo: ['allocation', 'release', id] } : {}),
  };
};
