/** One history: play the commands, settle, judge. */
import type { Base } from './base.ts';
import type { Played } from './command.ts';
import { judge } from './judge.ts';
import { createObserved, type Observed } from './observed.ts';
import { play } from './play.ts';
import { recover, settle } from './settle.ts';
import { createWorld } from './world.ts';

export type Verdict = Readonly<{
  wrong: readonly string[];
  launches: number;
  /** How often each command was accepted, and each state of an allocation was announced. */
  accepted: ReadonlyMap<string, number>;
  states: ReadonlyMap<string, number>;
}>;

const countStates = ({ events }: Observed): ReadonlyMap<string, number> => {
  const states = new Map<string, number>();
  for (const { type, data } of [...events.values()].flat())
    if (type === 'allocation.changed') states.set(String(data['state']), (states.get(String(data['state'])) ?? 0) + 1);
  return states;
};

export const runHistory = async (base: Base, commands: readonly Played[]): Promise<Verdict> => {
  const world = await createWorld(base);
  const observed = createObserved(base.tenants);
  try {
    const pending = new Set<Promise<void>>();
    for (const [number, command] of commands.entries()) {
      const job = play({ world, observed, number }, command).catch((err: unknown) => {
        observed.wrong.push(`${JSON.stringify(command)} failed: ${err instanceof Error ? err.stack : String(err)}`);
      });
      pending.add(job);
      void job.finally(() => pending.delete(job));
      if (command.overlap !== true) await job;
    }
    await Promise.all(pending);
    const open = await settle(world);
    const player = { world, observed, number: commands.length };
    const wrong = open.length > 0 ? [...observed.wrong, ...open] : await judge(player);
    if (open.length === 0) {
      wrong.push(...(await recover(world)));
      if (wrong.length === 0) wrong.push(...(await judge({ ...player, number: commands.length + 1 })));
    }
    return {
      wrong,
      launches: observed.launches.length,
      accepted: observed.accepted,
      states: countStates(observed),
    };
  } finally {
    await world.close();
  }
};
