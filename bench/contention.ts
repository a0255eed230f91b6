/**
 * Contention for the last slots: 64 clients of two server processes launch at the same time, round after round. After
 * each round the database is checked: no slot claimed twice, no partial set, no response that the database contradicts,
 * and a reason for every refused launch. The figure is the number of faults.
 */
import { Agent } from 'node:http';
import { Client } from 'pg';
import { findViolations } from '../server/test/invariants.ts';
import { type Listening, startApi, stopChild } from './child.ts';
import { type Attempt, attempt } from './contention/client.ts';
import { judgeArena, resetArena } from './contention/round.ts';
import { type Fleet, withFleet } from './placement/fleet.ts';
import { addMembers, type Member } from './placement/tenants.ts';
import type { Bench, Measurement } from './types.ts';

const ATTEMPTS = 200_000;
const CLIENTS = 64;
const SERVERS = 2;
const NODES = 4;
const SLOTS_PER_NODE = 8;
/** At most this many slots are left in a round: far fewer than are requested. */
const LAST_SLOTS_MAX = 16;
const GPU_COUNTS = [1, 1, 1, 2, 2, 4] as const;

/** The same rounds in every run (xorshift32). */
const createDice = (seed: number) => {
  let state = seed;
  return (sides: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % sides;
  };
};
type Dice = ReturnType<typeof createDice>;

const SLOTS = Array.from(
  { length: NODES * SLOTS_PER_NODE },
  (_, n) => `slt_${String(SLOTS_PER_NODE + n).padStart(26, '0')}`,
);

const drawSlots = (dice: Dice): string[] => {
  const rest = [...SLOTS];
  return Array.from({ length: 1 + dice(LAST_SLOTS_MAX) }, () => rest.splice(dice(rest.length), 1)).flat();
};

type Tally = { attempts: number; won: number; lost: Map<string, number>; faults: Map<string, number> };

const add = (counts: Map<string, number>, key: string, n: number): void => {
  if (n > 0) counts.set(key, (counts.get(key) ?? 0) + n);
};

const listed = (counts: Map<string, number>): string => [...counts].map(([key, n]) => `${n} ${key}`).join(', ');

const score = (tally: Tally, answers: readonly Attempt[], inDatabase: readonly string[]): void => {
  const told = new Set(answers.flatMap((answer) => (answer.kind === 'won' ? [answer.allocation_id] : [])));
  tally.attempts += answers.length;
  tally.won += told.size;
  for (const answer of answers) {
    if (answer.kind === 'won') continue;
    add(tally.lost, answer.code, 1);
    if (!answer.has_reason) add(tally.faults, 'losers without reason', 1);
  }
  const kept = inDatabase.filter((id) => told.has(id)).length;
  add(tally.faults, 'answers the database does not bear out', told.size + inDatabase.length - 2 * kept);
};

const fight = async (
  { database, url }: Fleet,
  members: readonly Member[],
  servers: readonly Listening[],
  attempts: number,
) => {
  const tally: Tally = { attempts: 0, won: 0, lost: new Map(), faults: new Map() };
  const dice = createDice(1);
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const owner = new Client({ connectionString: url });
  await owner.connect();
  try {
    while (tally.attempts < attempts) {
      await resetArena(owner, database, NODES, drawSlots(dice));
      const answers = await Promise.all(
        members.map((member, n) =>
          attempt(agent, servers[n % SERVERS]?.url ?? '', member, GPU_COUNTS[dice(GPU_COUNTS.length)] ?? 1),
        ),
      );
      const verdict = await judgeArena(owner);
      score(tally, answers, verdict.allocation_ids);
      add(tally.faults, 'double claims', verdict.double_claims);
      add(tally.faults, 'partial sets', verdict.partial_sets);
    }
    add(tally.faults, 'broken invariants', (await findViolations(database)).length);
  } finally {
    agent.destroy();
    await owner.end();
  }
  return tally;
};

export const contend = (attempts: number): Promise<Measurement> =>
  withFleet(NODES, async (fleet) => {
    const members = (await addMembers(fleet.database)).slice(0, CLIENTS);
    const servers: Listening[] = [];
    try {
      for (let n = 0; n < SERVERS; n++) servers.push(await startApi(fleet.url, fleet.dir));
      const startedAt = performance.now();
      const tally = await fight(fleet, members, servers, attempts);
      const seconds = (performance.now() - startedAt) / 1000;
      const faults = [...tally.faults.values()].reduce((sum, n) => sum + n, 0);
      return {
        name: 'contention',
        ratio: faults,
        goal: '<=0',
        reference: 'no double claim, no partial set, no loser without a reason',
        ours: `${tally.attempts} attempts, ${tally.won} winners, ${tally.attempts - tally.won} losers (${listed(tally.lost)}), faults: ${listed(tally.faults) || 'none'}; ${CLIENTS} clients of ${SERVERS} servers, ${Math.round(tally.attempts / seconds)} attempts/s`,
        pairs: Math.ceil(tally.attempts / CLIENTS),
      };
    } finally {
      for (const { child } of servers) await stopChild(child);
    }
  });

export const contentionBench: Bench = { name: 'contention', run: () => contend(ATTEMPTS) };
