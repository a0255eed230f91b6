import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addNode } from '../../server/test/agent.ts';
import { useChannel } from '../../server/test/channel.ts';
import { until } from '../../server/test/until.ts';
import { createAgent } from '../src/agent.ts';
import { enroll } from '../src/control-plane/enroll.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import { handlers } from '../src/tasks/index.ts';
import { cleanUp, QUICK, temporaryFolder } from './agents.ts';

describe('the agent and the real node API', () => {
  const channel = useChannel();

  it('a host is added, enrols, discovers its topology and reports its health', async (t) => {
    const { test, ask, stateOf } = channel();
    const url = new URL(test.app.node_api?.url ?? '');
    const { node, enrollment } = await addNode(test);
    const folder = await temporaryFolder(t);
    const host = createSimHost({ dir: join(folder, 'host'), name: 'j22u15', profile: 'dell-xe9680-h200' });
    const { boot_id, booted_at } = await host.system.facts();
    const state = join(folder, 'state');
    await enroll({
      url,
      ca_sha256: enrollment.ca_sha256,
      token: enrollment.token,
      state,
      hostname: 'j22u15',
      standing: { agent_version: '0.1.0', boot_id, booted_at, kinds: [...host.kinds] },
    });
    const lines: string[] = [];
    const config = {
      url,
      state,
      version: '0.1.0',
      patience: QUICK,
      write_log: (line: string) => void lines.push(line),
    };
    const agent = await createAgent({ host, handlers, config }).start();
    cleanUp(t, () => agent.stop());
    await agent.reached;
    assert.equal(agent.node_id, node.id);

    const params = { accelerators: [], private_network: '10.100.0.0/24' };
    const ids = [
      await ask(agent.node_id, { kind: 'slice.topology_discover', params }),
      await ask(agent.node_id, { kind: 'diag.health_probe', params: {} }),
    ];
    for (const id of ids)
      await until(
        `${id} is done`,
        async () => !['queued', 'dispatched', 'running'].includes((await stateOf(id)).state),
      );
    for (const id of ids) assert.equal((await stateOf(id)).state, 'completed', lines.join(''));
    await until('nothing in hand', () => agent.in_hand().length === 0);
  });
});
