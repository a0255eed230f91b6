import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { KEY } from '../../../test/vm.ts';
import { listenToGuest } from './hypervisor-report.ts';

/** A guest OS at the other end of its port. */
const guestThat = async (t: TestContext, speak: (socket: Socket) => void): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-report-'));
  const path = join(dir, 'guest.sock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    speak(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(async () => {
    server.close();
    await rm(dir, { recursive: true, force: true });
  });
  return path;
};
const LINE = `{"schema":1,"ssh_host_key":"${KEY}","gpu_count":2}\n`;

test('a guest report is read as soon as one line is complete', async (t) => {
  const path = await guestThat(t, (socket) => {
    socket.write(`cut off}\n${LINE.slice(0, 20)}`);
    setImmediate(() => socket.write(LINE.slice(20)));
  });
  assert.deepEqual(await listenToGuest(path), { ssh_host_key: KEY, gpu_count: 2, checks: [] });
});

test('a guest OS that floods its port is read up to a limit and then disconnected', async (t) => {
  const path = await guestThat(t, (socket) => {
    const flood = (): void => {
      while (socket.writable && socket.write('x'.repeat(65_536)));
    };
    socket.on('drain', flood);
    flood();
  });
  assert.equal(await listenToGuest(path), null);
});

test('a guest OS that is silent, gone or missing gives no report', async (t) => {
  assert.equal(await listenToGuest(await guestThat(t, () => undefined)), null);
  assert.equal(await listenToGuest(await guestThat(t, (socket) => socket.end('half a line'))), null);
  assert.equal(await listenToGuest('/nowhere/guest.sock'), null);
});
