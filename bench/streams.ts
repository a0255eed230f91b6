/**
 * The cost of one tenant's event streams for another: the median launch of a tenant through the whole API while another
 * tenant holds thousands of idle streams at the same process, compared with the same launch without them.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, startProgram } from './agents/program.ts';
import { lacksFiles } from './agents.ts';
import { startApi, stopChild } from './child.ts';
import { interleave, p50, round } from './pairs.ts';
import { REGION, SLICE_SKU, SMALL_FLEET_NODES, tenant, withFleet } from './placement/fleet.ts';
import { addMembers, type Member } from './placement/tenants.ts';
import type { StreamsFile } from './streams/client.ts';
import type { Bench } from './types.ts';

const STREAMS = 3_000;
const EACH = 30;
const PAIRS = 5;
const LAUNCHES = 60;
const WARM = 10;
/** Open files of a process besides its streams. */
const OTHER_FILES = 200;

const launch = async (url: string, { project_id, token }: Member): Promise<number> => {
  const key = randomUUID();
  const response = await fetch(`${url}/api/v1/projects/${project_id}/allocations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ name: `a-${key}`, sku_name: SLICE_SKU, region_name: REGION, gpu_count: 1 }),
  });
  await response.arrayBuffer();
  return response.status;
};

/** The median of a slice. Streams are idle, so it first waits for streams that were just opened or closed. */
const launches = async (url: string, member: Member): Promise<number> => {
  for (let accepted = 0; accepted < WARM; ) accepted = (await launch(url, member)) === 202 ? accepted + 1 : 0;
  return p50(LAUNCHES, async () => {
    const status = await launch(url, member);
    if (status !== 202) throw new Error(`a launch was refused: ${status}`);
  });
};

export const streamsBench: Bench = {
  name: 'streams',
  lacks: () => lacksFiles(STREAMS + OTHER_FILES),
  run: () =>
    withFleet(SMALL_FLEET_NODES, async ({ database, url, dir }) => {
      const [launcher] = await addMembers(database, [tenant(0)]);
      if (launcher === undefined) throw new Error('the launching tenant has a member');
      const holders = await addMembers(database, Array<ReturnType<typeof tenant>>(STREAMS / EACH).fill(tenant(1)));
      const api = await startApi(url, dir);
      let client: Program | undefined;
      try {
        const file: StreamsFile = {
          port: new URL(api.url).port,
          project_id: tenant(1).project_id,
          tokens: holders.map(({ token }) => token),
          each: EACH,
        };
        const path = join(dir, 'streams.json');
        await writeFile(path, JSON.stringify(file), { mode: 0o600 });
        const streams = startProgram('bench/streams/client.ts', [path], {});
        client = streams;
        const slice = () => launches(api.url, launcher);
        const result = await interleave(
          async () => {
            await streams.ask('open');
            try {
              return await slice();
            } finally {
              await streams.ask('close');
            }
          },
          slice,
          PAIRS,
        );
        return {
          name: 'streams',
          ratio: result.ratio,
          goal: '<=1.5',
          reference: `${round(result.reference)} ms median launch over HTTP without open streams`,
          ours: `${round(result.ours)} ms while another tenant holds ${STREAMS} idle event streams at the same process`,
          pairs: result.pairs,
        };
      } finally {
        await client?.stop();
        await stopChild(api.child);
      }
    }),
};
