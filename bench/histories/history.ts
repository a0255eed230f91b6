/** One history: play the commands, settle, judge. */
import type { Base } from './base.ts';
import { layoutOf, type Played } from './command.ts';
import { judge } from './judge.ts';
import { createObserved } from './observed.ts';
import { type Player, play, readEvents } from './play.ts';
import { reachedStates } from './reached.ts';
import { recover, settle } from './settle.ts';
import { follow } from './stream.ts';
import { createWorld } from './world.ts';

export type Verdict = Readonly<{
  wrong: readonly string[];
  launches: number;
  /** How often each command was accepted, and each state was entered. */
  accepted: ReadonlyMap<string, number>;
  reached: ReadonlyMap<string, number>;
}>;

/** From the last event before the history. */
const followEvents = async (player: Player): Promise<void> => {
  const { world, observed } = player;
  for (const tenant of world.base.tenants) {
    await readEvents(player, tenant, tenant.project_id);
    const last = observed.events.get(tenant.project_id)?.at(-1)?.id;
    if (last !== undefined) observed.streams.push({ followed: follow(world, tenant, last), last });
  }
};

export const runHistory = async (base: Base, commands: readonly Played[]): Promise<Verdict> => {
  const world = await createWorld(base, layoutOf(commands));
  const observed = createObserved(base.tenants);
  try {
    await followEvents({ world, observed, number: -1 });
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
      const left = await recover(world);
      wrong.push(...(left ?? []));
      if (left !== null && wrong.length === 0) wrong.push(...(await judge({ ...player, number: commands.length + 1 })));
    }
    return {
      wrong,
      launches: observed.launches.length,
      accepted: observed.accepted,
      reached: await reachedStates(world.sql),
    };
  } finally {
    await Promise.all(observed.streams.map(({ followed }) => followed.stop()));
    await world.close();
  }
};
