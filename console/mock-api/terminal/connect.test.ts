import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@gpuaas/sdk';
import { connectMock } from '../index.ts';
import { testApi } from '../test/request.ts';
import { named } from '../test/scenarios-allocation.ts';

const start = () => {
  const api = testApi();
  const client = createClient({ baseUrl: 'https://mock.invalid', fetch: api.fetch, retry: { retriesMax: 0 } });
  const { id, project_id } = named(api, 'train-llama');
  return { api, client, at: { project_id, allocation_id: id } };
};

/** Everything shown until the session ends. */
const shown = async (bytes: AsyncIterable<Uint8Array>): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of bytes) text += decoder.decode(chunk, { stream: true });
  return text;
};

test('a terminal echoes input, answers a command and ends with exit', async () => {
  const { api, client, at } = start();
  const stream = await connectMock(client, { ...at, kind: 'terminal', cols: 80, rows: 24 });
  await stream.ready;
  const text = shown(stream.bytes);
  await stream.write(new TextEncoder().encode('echo hello there\rnvidia-smi -L\rexit 3\r'));
  assert.deepEqual(await stream.closed, {
    reason: 'ended',
    message: 'The program ended.',
    exit_code: 3,
    signal: null,
  });
  assert.match(await text, /echo hello there\r\nhello there\r\n/);
  assert.match(await text, /GPU 3: NVIDIA H200\r\n/);
  const [session] = (await client.terminalSessionList({ params: at })).items;
  assert.equal(session?.state, 'closed');
  assert.ok((session?.bytes_in ?? 0) > 0 && (session?.bytes_out ?? 0) > 0);
  assert.equal(api.world.sessions.get(session?.id ?? '')?.end_reason, 'ended');
});

test('a read-only user sees the console and cannot type', async () => {
  const { api, client, at } = start();
  api.signInAs('viewer');
  await assert.rejects(connectMock(client, { ...at, kind: 'terminal' }), /need allocation.connect/);
  const stream = await connectMock(client, { ...at, kind: 'console' });
  assert.equal(stream.session.is_writable, false);
  await stream.write(new TextEncoder().encode('echo no\r'));
  stream.close();
  assert.doesNotMatch(await shown(stream.bytes), /echo no/);
  assert.equal((await stream.closed).reason, 'client_disconnected');
});

test('a VM that is off has no terminal, and the error says how to start it', async () => {
  const { api, client } = start();
  const { id, project_id } = named(api, 'ray-head');
  await assert.rejects(
    connectMock(client, { project_id, allocation_id: id, kind: 'terminal' }),
    /The VM is off\. Start it first/,
  );
});
