/** Many histories, some at a time. A failing one is printed with its seed, what is wrong, and its smallest part. */
import type { Base } from './base.ts';
import { describeCommands, generate, type Played } from './command.ts';
import { runHistory } from './history.ts';
import { shrink } from './shrink.ts';

export type Failure = Readonly<{ seed: number; wrong: readonly string[]; commands: readonly Played[] }>;

export type Outcome = Readonly<{
  histories: number;
  launches: number;
  failures: readonly Failure[];
  /** How often each command was accepted, and each state of an allocation was announced. */
  accepted: ReadonlyMap<string, number>;
  states: ReadonlyMap<string, number>;
}>;

export type HistoriesOptions = Readonly<{
  first_seed: number;
  count: number;
  length: number;
  /** How many are played at once: most of the time of one is waiting. */
  at_once: number;
  shrink_tries_max: number;
  say(text: string): void;
}>;

const addTo = (sums: Map<string, number>, more: ReadonlyMap<string, number>): void => {
  for (const [name, n] of more) sums.set(name, (sums.get(name) ?? 0) + n);
};

const WRONG_SHOWN_MAX = 20;

export const runHistories = async (base: Base, options: HistoriesOptions): Promise<Outcome> => {
  const { first_seed, count, length, say } = options;
  const accepted = new Map<string, number>();
  const states = new Map<string, number>();
  const failures: Failure[] = [];
  const failed: { seed: number; wrong: readonly string[] }[] = [];
  let launches = 0;
  let next = first_seed;
  const work = async (): Promise<void> => {
    while (next < first_seed + count) {
      const seed = next++;
      const verdict = await runHistory(base, generate(seed, length));
      addTo(accepted, verdict.accepted);
      addTo(states, verdict.states);
      launches += verdict.launches;
      if (verdict.wrong.length > 0) failed.push({ seed, wrong: verdict.wrong });
    }
  };
  await Promise.all(Array.from({ length: options.at_once }, work));
  for (const { seed, wrong } of failed) {
    say(`Seed ${seed} with ${length} commands is wrong:\n${wrong.slice(0, WRONG_SHOWN_MAX).join('\n')}`);
    const fails = async (part: readonly Played[]) => (await runHistory(base, part)).wrong.length > 0;
    const commands = await shrink(generate(seed, length), fails, options.shrink_tries_max);
    say(`The smallest part of seed ${seed} that is wrong as well:\n${describeCommands(commands)}`);
    failures.push({ seed, wrong, commands });
  }
  return { histories: count, launches, failures, accepted, states };
};
