/**
 * `make bench [NAME=x]`: one JSON object per line, exit 1 when a goal is missed. A benchmark that cannot run here is
 * named on stderr with the missing requirement; that is an error only if it was requested by name. A failure prints its
 * message; with `NODE_DEBUG=bench` also its stack.
 */
import { debuglog } from 'node:util';
import { agentsBenches } from './agents.ts';
import { capacityReadBench } from './capacity.ts';
import { consoleBenches } from './console.ts';
import { contentionBench } from './contention.ts';
import { diskBenches } from './disks.ts';
import { whyFailed } from './failure.ts';
import { fleetBench } from './fleet.ts';
import { growthBench } from './growth.ts';
import { historiesBench } from './histories.ts';
import { httpReadBench, httpWriteBench } from './http.ts';
import { packingBenches } from './packing.ts';
import { placementBench, placementScaleBench } from './placement.ts';
import { placementHttpBench } from './placement-http.ts';
import { retryElsewhereBench } from './retry-elsewhere.ts';
import { slurmBenches } from './slurm.ts';
import { streamBench } from './stream.ts';
import { streamsBench } from './streams.ts';
import type { Bench, Measurement } from './types.ts';
import { upBench } from './up.ts';
import { machineBenches } from './vms.ts';
import { workflowBench } from './workflow.ts';

const BENCHES: readonly Bench[] = [
  httpReadBench,
  httpWriteBench,
  workflowBench,
  upBench,
  ...packingBenches,
  placementBench,
  placementHttpBench,
  placementScaleBench,
  capacityReadBench,
  contentionBench,
  fleetBench,
  streamsBench,
  retryElsewhereBench,
  historiesBench,
  growthBench,
  ...slurmBenches,
  ...agentsBenches,
  ...diskBenches,
  ...machineBenches,
  streamBench,
  ...consoleBenches,
];

const debug = debuglog('bench');

const isMet = ({ ratio, goal }: Measurement): boolean => {
  if (goal === null) return true;
  const [, sign, limit] = /^(>=|<=)(\d+(?:\.\d+)?)$/.exec(goal) ?? [];
  if (limit === undefined || ratio === null) throw new Error(`cannot judge ${ratio} by ${goal}`);
  return sign === '>=' ? ratio >= Number(limit) : ratio <= Number(limit);
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown !== undefined) {
  process.stderr.write(
    `No benchmark is named ${unknown}; there are ${[...new Set(BENCHES.map((bench) => bench.name))].join(', ')}.\n`,
  );
  process.exit(2);
}
for (const bench of BENCHES) {
  if (wanted.length > 0 && !wanted.includes(bench.name)) continue;
  const lacks = (await bench.lacks?.()) ?? false;
  if (lacks !== false) {
    process.stderr.write(`${bench.name} is not measured: ${lacks}\n`);
    if (wanted.length > 0) process.exitCode = 1;
    continue;
  }
  try {
    const measurement = await bench.run();
    process.stdout.write(`${JSON.stringify(measurement)}\n`);
    if (!isMet(measurement)) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`${bench.name} failed: ${whyFailed(error)}\n`);
    debug('%s', error instanceof Error ? error.stack : error);
    process.exitCode = 1;
  }
}
