import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { pause } from '@gpuaas/kit';
import type { TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';

const start = { attempt: 1 };
const task = { task_id: `tsk_${'0'.repeat(26)}` };

describe('limits behind a certificate', () => {
  const channel = useChannel({
    node_api: {
      host: '127.0.0.1',
      port: 0,
      url: 'https://localhost',
      names: ['localhost', '127.0.0.1'],
      stranger_rate_per_minute: 1_000_000,
      node_rate_per_minute: 300,
      releases_dir: '/nonexistent',
    },
  });

  const socketOf = async (agent: TestAgent): Promise<TLSSocket> => {
    const { hostname, port } = new URL(channel().url);
    const socket = connect({
      host: hostname,
      port: Number(port),
      servername: 'localhost',
      ca: agent.trust.ca_bundle_pem,
      cert: agent.certificate_pem,
      key: agent.private_key_pem,
    });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  };

  it('a node over its limit gets a retry time, on a connection that stays open, and others are served', async () => {
    const { join, test } = channel();
    const [loud, quiet] = [await join(), await join()];
    const statuses = new Map<number, number>();
    let last: Awaited<ReturnType<TestAgent['call']>> | undefined;
    for (let n = 0; n < 600 && (statuses.get(429) ?? 0) < 5; n++) {
      last = await loud.call('taskStart', start, task);
      statuses.set(last.status, (statuses.get(last.status) ?? 0) + 1);
    }
    assert.equal(statuses.get(429), 5, JSON.stringify([...statuses]));
    assert.ok((statuses.get(200) ?? 0) >= 300);
    assert.equal(last?.body.code, 'rate_limited');
    assert.equal(last?.headers['retry-after'], '1');
    assert.notEqual(last?.headers['connection'], 'close');
    assert.equal((await quiet.call('taskStart', start, task)).status, 200);
    const lines = test.logs.filter((line) => line['node_id'] === loud.node_id && line['message'] === 'request');
    assert.deepEqual(
      lines.map((line) => [line['level'], line['status']]),
      [['info', 429]],
      'what goes well is not in the log, and the limit is there once',
    );
    for (const agent of [loud, quiet]) agent.close();
  });

  it('unfinished requests occupy eight places of their node, which are freed on disconnect', async () => {
    const { join, url } = channel();
    const agent = await join();
    const path = `/internal/v1/nodes/${agent.node_id}/tasks/${task.task_id}/start`;
    const slow = Array.from({ length: 8 }, () => {
      const request = httpsRequest(new URL(path, url), {
        method: 'POST',
        agent: agent.tls,
        headers: { 'content-type': 'application/json', 'content-length': 100 },
      });
      request.on('error', () => {});
      request.write('{');
      return request;
    });
    const again = agent.again();
    await until('all places are taken', async () => {
      // Below the request rate limit.
      await pause(100);
      return (await again.call('taskStart', start, task)).status === 429;
    });
    assert.equal((await again.wait()).status, 200, 'a poll has a place of its own');
    for (const request of slow) request.destroy();
    await until('places are free', async () => (await again.call('taskStart', start, task)).status === 200);
    for (const one of [agent, again]) one.close();
  });

  it('disconnected polls leave no place occupied', async () => {
    const { join, test } = channel();
    const agent = await join();
    const resting = () => (test.app.node_api?.dispatcher.size() ?? 0) > 0;
    for (let n = 0; n < 4; n++) {
      const one = agent.again();
      const poll = assert.rejects(one.wait({ wait_s: 15 }));
      await until('the agent rests', resting);
      one.close();
      await poll;
      await until('no agent waits', () => !resting());
    }
    assert.equal((await agent.wait()).status, 200);
    agent.close();
  });

  it('above the connection limit of one certificate the oldest connections end', async () => {
    const agent = await channel().join();
    const sockets: TLSSocket[] = [];
    for (let n = 0; n < 18; n++) sockets.push(await socketOf(agent));
    await until('two have ended', () => sockets.filter((socket) => socket.closed).length === 2);
    assert.deepEqual(
      sockets.map((socket) => socket.closed),
      [true, true, ...Array<boolean>(16).fill(false)],
    );
    for (const socket of sockets) socket.destroy();
    agent.close();
  });
});
