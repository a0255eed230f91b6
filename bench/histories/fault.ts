/** Plays the faults of a history, and heals all of them. */

import type { TaskKind } from '@gpuaas/contract/node';
import { pause } from '@gpuaas/kit';
import { addFault, clearFaults, type HostOperation, type NewFault } from '../../node-agent/src/host/sim/fault.ts';
import type { Command, HostFault } from './command.ts';
import type { World, WorldHost } from './world.ts';

const effectOf = (effect: HostFault): Pick<Extract<NewFault, { do: string }>, 'do' | 'after' | 'times'> => {
  if (effect === 'crash_after') return { do: 'crash', after: true, times: 1 };
  return effect === 'hang' ? { do: 'hang' } : { do: effect, times: 1 };
};

export const heal = async (world: World): Promise<void> => {
  for (const { valve } of await world.processes()) valve.setSilent(false);
  for (const { machine, valve, skew } of world.hosts) {
    clearFaults(machine);
    valve.setSilent(false);
    skew.ms = 0;
  }
  world.clock.advance(Date.now() - world.clock.now().getTime());
};

/** A database that restarts ends every session and refuses new ones until it is back. The cluster itself has other users. */
const restartDatabase = async (world: World, ms: number): Promise<void> => {
  const processes = await world.processes();
  for (const { valve } of processes) valve.setRefusing(true);
  await world.sql.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await pause(ms);
  for (const { valve } of processes) valve.setRefusing(false);
};

/** The agent ends in the middle of its work and reports nothing more; its host goes on. */
const killAgent = async ({ valve, fleet }: WorldHost): Promise<void> => {
  valve.setRefusing(true);
  await fleet.stop();
  valve.setRefusing(false);
  await fleet.start();
};

/** False for a command that is no fault. */
export const playFault = async (world: World, command: Command): Promise<boolean> => {
  const host = 'node' in command ? world.hosts[command.node % world.hosts.length] : undefined;
  switch (command.do) {
    case 'kill':
      await world.kill(command.process);
      return true;
    case 'cut_database':
      (await world.process(command.process)).valve.cut();
      return true;
    case 'lose_commit':
      (await world.process(command.process)).valve.loseNextCommit();
      return true;
    case 'silence_database': {
      const { valve } = await world.process(command.process);
      valve.setSilent(true);
      await pause(command.ms);
      valve.setSilent(false);
      return true;
    }
    case 'restart_database':
      await restartDatabase(world, command.ms);
      return true;
    case 'jump_database_clock':
      // To the next worker the time since the last check has passed at once.
      await world.kill('worker', async () => {
        await world.sql.query('update clock_guard set seen_at = seen_at - make_interval(hours => $1)', [command.hours]);
      });
      return true;
    case 'layout':
      return true;
    case 'server_clock':
      world.clock.advance(command.step_ms);
      return true;
    case 'heal':
      await heal(world);
      return true;
    case 'pause':
      await pause(command.ms);
      return true;
    default:
      break;
  }
  if (host === undefined) return false;
  switch (command.do) {
    case 'cut_agent':
      host.valve.cut();
      return true;
    case 'kill_agent':
      await killAgent(host);
      return true;
    case 'silence':
      host.valve.setSilent(command.on);
      return true;
    case 'host_fault':
      addFault(host.machine, { when: command.kind as TaskKind, ...effectOf(command.effect) });
      return true;
    case 'lie':
      addFault(host.machine, { when: command.what satisfies HostOperation, do: 'lie', times: 1 });
      return true;
    case 'reboot':
      addFault(host.machine, { state: 'rebooted' });
      return true;
    case 'guest_crash':
      addFault(host.machine, { state: 'guest_crashed' });
      return true;
    case 'host_clock':
      host.skew.ms += command.step_ms;
      return true;
    default:
      return false;
  }
};
