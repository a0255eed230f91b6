/** Many histories, some at a time. A failing one is printed with its seed, what is wrong, and its smallest part. */
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Base } from './base.ts';
import { COMMAND_KINDS, describeCommands, generate, type Played } from './command.ts';
import { runHistory } from './history.ts';
import { STATES } from './reached.ts';
import { shrink } from './shrink.ts';

export type Failure = Readonly<{ seed: number; wrong: readonly string[]; commands: readonly Played[] }>;

export type Outcome = Readonly<{
  histories: number;
  launches: number;
  failures: readonly Failure[];
  /** How often each command was accepted, and each state was entered. */
  accepted: ReadonlyMap<string, number>;
  reached: ReadonlyMap<string, number>;
}>;

export type HistoriesOptions = Readonly<{
  seeds: readonly number[];
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
const REPLAY_FILE = 'GPUAAS_BENCH_PLAY';

export const replayCommand = (seed: number, length: number): string =>
  `GPUAAS_BENCH_SEED=${seed} GPUAAS_BENCH_HISTORIES=1 GPUAAS_BENCH_COMMANDS=${length} make bench NAME=histories`;

/** Commands that were never accepted and states that were never entered: a driver that reaches nothing tests nothing. */
export const notReached = ({ accepted, reached }: Outcome): readonly string[] => [
  ...COMMAND_KINDS.filter((kind) => !accepted.has(kind)),
  ...STATES.filter((state) => !reached.has(state)),
];

export const runHistories = async (base: Base, options: HistoriesOptions): Promise<Outcome> => {
  const { seeds, length, say } = options;
  const accepted = new Map<string, number>();
  const reached = new Map<string, number>();
  const failures: Failure[] = [];
  const failed: { seed: number; wrong: readonly string[] }[] = [];
  let launches = 0;
  const waiting = [...seeds];
  const work = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const verdict = await runHistory(base, generate(seed, length));
      addTo(accepted, verdict.accepted);
      addTo(reached, verdict.reached);
      launches += verdict.launches;
      if (verdict.wrong.length > 0) failed.push({ seed, wrong: verdict.wrong });
    }
  };
  await Promise.all(Array.from({ length: options.at_once }, work));
  for (const { seed, wrong } of failed) {
    say(
      `Seed ${seed} with ${length} commands is wrong; to play it again: ${replayCommand(seed, length)}\n${wrong.slice(0, WRONG_SHOWN_MAX).join('\n')}`,
    );
    const fails = async (part: readonly Played[]) => (await runHistory(base, part)).wrong.length > 0;
    const commands = await shrink(generate(seed, length), fails, options.shrink_tries_max);
    const file = join(tmpdir(), `gpuaas-history-${seed}.jsonl`);
    await writeFile(file, `${describeCommands(commands)}\n`);
    say(`The smallest part of seed ${seed} that is wrong as well:\n${describeCommands(commands)}`);
    say(`To play it again: ${REPLAY_FILE}=${file} make bench NAME=histories`);
    failures.push({ seed, wrong, commands });
  }
  return { histories: seeds.length, launches, failures, accepted, reached };
};
