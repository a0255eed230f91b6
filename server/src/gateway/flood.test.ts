import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { STREAM_MESSAGE_BYTES_MAX, STREAM_PROTOCOL, STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';
import { silentLog } from '@gpuaas/kit';
import { WebSocket } from 'ws';
import { until } from '../../test/until.ts';
import type { GatewaySessionRow } from '../sessions/gateway-session.ts';
import { createLeg } from './leg.ts';
import { createWebSockets } from './listen.ts';
import { createSession } from './session.ts';

/** Both ends of one connection, as the gateway creates them. */
const connect = async (t: TestContext): Promise<{ here: WebSocket; there: WebSocket }> => {
  const webSockets = createWebSockets();
  const server = createServer();
  const accepted = Promise.withResolvers<WebSocket>();
  server.on('upgrade', (request, socket, head) => webSockets.handleUpgrade(request, socket, head, accepted.resolve));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const there = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, [STREAM_PROTOCOL]);
  const here = await accepted.promise;
  await once(there, 'open');
  t.after(() => {
    there.terminate();
    here.terminate();
    server.close();
  });
  return { here, there };
};

const ROW: Omit<GatewaySessionRow, 'is_writable'> = {
  ...{ id: 'ses_1', organization_id: 'org_1', project_id: 'prj_1', allocation_id: 'alc_1', node_id: 'nod_1' },
  ...{ capacity_shape: 'gpu_slice', kind: 'console', port: null, cols: 80, rows: 24, is_recorded: false },
  ...{ principal_id: 'usr_1', principal_kind: 'user', principal_name: 'Ada', source_ip: null },
  ...{ correlation_id: 'cor_1', expires_at: '2030-01-01T00:00:00.000Z' },
};

describe('a peer that sends and does not read', () => {
  it('gets a bounded number of pongs', async (t) => {
    const { here, there } = await connect(t);
    const nothing = () => undefined;
    createLeg(here, { onMessage: nothing, onClose: nothing, onFull: nothing });
    there.ping('are you there?');
    const [answer] = (await once(there, 'pong')) as [Buffer];
    assert.equal(answer.toString(), 'are you there?');
    let heard = 0;
    here.on('ping', () => {
      heard += 1;
    });
    there.pause();
    const asked = 200_000;
    const question = Buffer.alloc(125);
    for (let at = 0; at < asked; at++) there.ping(question);
    await until('all were heard', () => heard === asked, 60_000);
    assert.ok(here.bufferedAmount < 3 * STREAM_WINDOW_BYTES, `${here.bufferedAmount} bytes wait`);
  });

  it('is not read further while responses to its typing into a read-only console are pending', async (t) => {
    const { here, there } = await connect(t);
    const nothing = () => undefined;
    createSession({
      row: { ...ROW, is_writable: false },
      ...{ client: here, user_agent: '', nowMs: () => 0, log: silentLog() },
      keepPart: async () => undefined,
      endReason: async () => null,
      ...{ onReady: nothing, onBytes: nothing, onEnd: nothing },
    });
    there.pause();
    for (let at = 0; at < 300_000; at++) there.send(Buffer.of(1));
    for (let at = 0; at < 256; at++) there.send(Buffer.alloc(STREAM_MESSAGE_BYTES_MAX));
    await until('it is not read', () => here.isPaused, 60_000);
    there.resume();
    let answered = 0;
    there.on('message', (data: Buffer, isBinary) => {
      const word = isBinary ? undefined : JSON.parse(data.toString());
      if (word?.type === 'ack') answered += word.bytes;
    });
    const all = 300_000 + 256 * STREAM_MESSAGE_BYTES_MAX;
    await until('all of it was answered', () => answered === all, 60_000);
  });
});
