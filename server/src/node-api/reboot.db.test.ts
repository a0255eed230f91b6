import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { discover, discovery } from '../../test/discovered.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { wantReboot } from '../db/node.ts';

const REASON = 'A GPU could not be reset.';
const HOUR_MS = 3_600_000;

describe('a reboot that a host needs', () => {
  const channel = useChannel();
  const want = (agent: TestAgent) =>
    channel().test.db.database.write(PLATFORM, (tx) => wantReboot(tx, agent.node_id, REASON));
  const find = (agent: TestAgent, over = {}) =>
    discover(channel().test.db.database, agent.node_id, discovery(undefined, over));
  /** As an operator sees it. */
  const seen = async (agent: TestAgent) => {
    const admin = await channel().test.admin();
    const { body } = await admin.get(`/api/v1/admin/nodes/${agent.node_id}`);
    return [body.reboot_required, body.reboot_reason];
  };
  const isNoted = async (agent: TestAgent, boot_id: string) =>
    (await channel().rows('select from node_agents where node_id = $1 and boot_id = $2', [agent.node_id, boot_id]))
      .length === 1;
  /** The host reports its boot time; returns when it is stored. */
  const boot = async (agent: TestAgent, boot_id: string, ageMs: number): Promise<void> => {
    await agent.wait({ boot_id, booted_at: new Date(Date.now() - ageMs).toISOString() });
    await until('the boot is noticed', () => isNoted(agent, boot_id));
  };

  it('for a failed reset remains regardless of discovery, until the host has booted after it', async () => {
    const agent = await channel().join();
    await boot(agent, 'boot-1', HOUR_MS);
    await want(agent);
    await find(agent);
    assert.deepEqual(await seen(agent), [true, REASON]);
    await boot(agent, 'boot-2', HOUR_MS);
    await find(agent);
    assert.deepEqual(await seen(agent), [true, REASON], 'an earlier boot does not repair it');
    await boot(agent, 'boot-3', 0);
    assert.deepEqual(await seen(agent), [false, null]);
    agent.close();
  });

  it('for a prerequisite ends when discovery no longer requires it, and not by any boot', async () => {
    const agent = await channel().join();
    await boot(agent, 'boot-1', HOUR_MS);
    await find(agent, { reboot_required: true });
    assert.deepEqual(await seen(agent), [true, null]);
    await want(agent);
    await boot(agent, 'boot-2', 0);
    assert.deepEqual(await seen(agent), [true, null], 'the reset is done, the prerequisite is not');
    await find(agent);
    assert.deepEqual(await seen(agent), [false, null]);
    agent.close();
  });
});
