/**
 * Forgets the failed launches of hosts that had no further one for a while, so that a passing fault does not leave a host
 * unused. Where placement has stopped, an operator decides.
 */
import { randomUUID } from 'node:crypto';
import { forgetLaunchFailures } from '../agents/launch-failures.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { isNodeCooled, listCooledNodes } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { COOLDOWN_MIN, LAUNCH_FAILURES_MAX } from '../domain/launch-failures.ts';

const RULE = { cooldown_min: COOLDOWN_MIN, failures_max: LAUNCH_FAILURES_MAX };

export const endCooldown = async (deps: Readonly<{ database: Database }>): Promise<number> => {
  const ids = await deps.database.read(PLATFORM, (reader) => listCooledNodes(reader, RULE));
  let ended = 0;
  for (const id of ids)
    await deps.database.write(PLATFORM, async (tx) => {
      await lockSummary(tx, id);
      if (!(await isNodeCooled(tx, id, RULE))) return;
      const reason = `No launch failed on the host for ${COOLDOWN_MIN} minutes.`;
      if (await forgetLaunchFailures(tx, id, { reason, correlation_id: `c-${randomUUID()}` })) ended += 1;
    });
  return ended;
};
