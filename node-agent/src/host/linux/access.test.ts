import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { HostError } from '../host.ts';
import { createDial } from './access-dial.ts';
import { createKeyInstaller } from './access-keys.ts';
import { createSerial, HISTORY_BYTES, joinHistory, MISSED, VIEWER_BYTES_MAX } from './access-serial.ts';

const soon = () => AbortSignal.timeout(60_000);
const refuses = (act: Promise<unknown>, code: string, pattern: RegExp) =>
  assert.rejects(
    act,
    (err) => err instanceof HostError && err.code === code && pattern.test(err.message),
    String(pattern),
  );

const serve = async (t: TestContext, at: string | null, onClient: (client: Socket) => void): Promise<Server> => {
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.on('error', () => undefined);
    onClient(client);
  });
  if (at === null) server.listen(0, '127.0.0.1');
  else server.listen(at);
  await once(server, 'listening');
  t.after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  return server;
};
const folderOf = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gpuaas-access-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

for (const [where, prefix] of [
  ['directly', []],
  ['by a program behind a prefix', ['env']],
] as const)
  describe(`a connection made ${where}`, () => {
    it('receives every byte from the first, and a half-close passes both ways', async (t) => {
      const server = await serve(t, null, (client) => {
        client.write('SSH-2.0-first\r\n');
        let bytes = 0;
        client.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        client.on('end', () => client.end(`${bytes}`));
      });
      const dial = createDial(prefix);
      const { port } = server.address() as AddressInfo;
      const sockets = await Promise.all(Array.from({ length: 5 }, () => dial({ address: '127.0.0.1', port }, soon())));
      for (const socket of sockets) {
        socket.write(Buffer.alloc(100_000));
        socket.end();
        let text = '';
        for await (const chunk of socket) text += String(chunk);
        assert.equal(text, 'SSH-2.0-first\r\n100000');
      }
    });

    it('is refused with a message if nothing listens, and aborted with its signal', async () => {
      const dial = createDial(prefix);
      const to = { address: '127.0.0.1', port: 1 };
      await refuses(dial(to, soon()), 'blocked', /^Nothing listens on port 1 of the VM\.$/);
      await refuses(dial(to, AbortSignal.abort()), 'host_error', /ABORTED/);
      await refuses(dial({ address: 'example.org', port: 22 }, soon()), 'blocked', /Invalid VM address/);
      await refuses(dial({ address: '127.0.0.1', port: 0 }, soon()), 'blocked', /Invalid port/);
    });
  });

it('a program that cannot be started is reported, and the next attempt runs it again', async () => {
  const dial = createDial(['/nonexistent-program']);
  for (let tries = 0; tries < 2; tries++)
    await refuses(
      dial({ address: '127.0.0.1', port: 22 }, soon()),
      'host_error',
      /Connecting to port 22 of the VM failed/,
    );
});

/** The output shown to a viewer until it contains this. */
const shown = (output: Readable, what: string): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const look = (chunk: Buffer): void => {
      text += chunk.toString();
      if (!text.includes(what)) return;
      output.off('data', look);
      output.pause();
      resolve(text);
    };
    output.on('data', look);
    output.resume();
  });

describe('the serial console', () => {
  const lineOf = async (t: TestContext, log: string) => {
    const folder = folderOf(t);
    const paths = { serial: join(folder, 'tty'), console: join(folder, 'log') };
    writeFileSync(paths.console, log);
    const clients: Socket[] = [];
    const server = await serve(t, paths.serial, (client) => void clients.push(client));
    const openLine = createSerial(() => paths);
    /** The VM also sees a connected viewer by then. */
    const first = async () => {
      const [line] = await Promise.all([openLine('a'), once(server, 'connection')]);
      return line;
    };
    return { open: openLine, first, clients };
  };

  it('shares one connection between all viewers and starts with the recent output', async (t) => {
    const { open, first, clients } = await lineOf(t, `${'x'.repeat(HISTORY_BYTES)}booted\n`);
    const [one, two] = await Promise.all([first(), open('a')]);
    const history = await shown(one.output, 'booted');
    assert.equal(history.length, HISTORY_BYTES);
    await shown(two.output, 'booted');
    assert.equal(clients.length, 1);
    clients[0]?.write('login: ');
    await Promise.all([shown(one.output, 'login: '), shown(two.output, 'login: ')]);
    const typed = once(clients[0] ?? assert.fail(), 'data');
    await one.write(Buffer.from('root\r'));
    assert.equal(String((await typed)[0]), 'root\r');
    const later = await open('a');
    assert.match(await shown(later.output, 'login: '), /booted\nlogin: $/);
    const left = once(clients[0] ?? assert.fail(), 'end');
    for (const viewer of [one, two, later]) viewer.close();
    await left;
    const again = await first();
    assert.equal(clients.length, 2, 'a user who comes back connects again');
    again.close();
  });

  it('continues for other viewers while one does not read, and shows that one a gap', async (t) => {
    const { open, first, clients } = await lineOf(t, '');
    const [quick, slow] = [await first(), await open('a')];
    const all = Promise.withResolvers<void>();
    let seen = 0;
    quick.output.on('data', (chunk: Buffer) => {
      seen += chunk.length;
      if (seen >= total) all.resolve();
    });
    const total = 4 * VIEWER_BYTES_MAX;
    for (let sent = 0; sent < total; sent += 64 * 1024) clients[0]?.write(Buffer.alloc(64 * 1024, 'x'));
    await all.promise;
    assert.ok(slow.output.readableLength <= VIEWER_BYTES_MAX);
    slow.output.read();
    clients[0]?.write('end');
    assert.ok((await shown(slow.output, 'end')).includes(`${MISSED}end`));
    quick.close();
    slow.close();
  });

  it('limits the input that the VM has not read, however many clients typed it and left', async (t) => {
    const { open, first, clients } = await lineOf(t, '');
    const stays = await first();
    clients[0]?.pause();
    const refused = Promise.withResolvers<Error>();
    let typed = 0;
    for (let at = 0; at < 64; at++) {
      const line = await open('a');
      line.write(Buffer.alloc(64 * 1024)).then(
        () => {
          typed += 1;
        },
        (error: Error) => refused.resolve(error),
      );
      line.close();
    }
    assert.equal((await refused.promise).message, 'The VM does not read console input.');
    assert.ok(typed < 32, `${typed} of 64 were taken`);
    stays.close();
  });

  it('ends with the VM and is refused if there is none', async (t) => {
    const { first, clients } = await lineOf(t, '');
    const line = await first();
    line.output.resume();
    const ended = once(line.output, 'end');
    clients[0]?.destroy();
    await ended;
    await assert.rejects(line.write(Buffer.from('x')), HostError);
    const none = createSerial(() => ({ serial: '/nonexistent/tty', console: '/nonexistent/log' }));
    await refuses(none('a'), 'blocked', /^The VM is off, or it was started without a connectable console/);
  });

  it('does not repeat output that is in both the log and the live stream', () => {
    const join = (log: string, live: string) => joinHistory(Buffer.from(log), Buffer.from(live)).toString();
    assert.equal(join('abc', 'bcd'), 'abcd');
    assert.equal(join('abc', 'xyz'), 'abcxyz');
    assert.equal(join('', 'abc'), 'abc');
    assert.equal(join('abc', ''), 'abc');
    assert.equal(join('abcabc', 'abc'), 'abcabc');
  });
});

describe('SSH keys sent to a guest OS', () => {
  const sendTo = async (t: TestContext, guest: (client: Socket, heard: string) => void) => {
    const at = join(folderOf(t), 'keys');
    await serve(t, at, (client) => {
      client.write('ready\n');
      let heard = '';
      client.on('data', (chunk: Buffer) => {
        heard += chunk.toString();
        guest(client, heard);
      });
    });
    return createKeyInstaller(() => at);
  };

  it('are installed when the guest OS confirms exactly this set', async (t) => {
    const tell = await sendTo(t, (client, heard) => {
      const [, mark, , digest] = /^set (\S+) (\d+) (\S+)\n/.exec(heard) ?? [];
      client.write(`ready\ndone ${mark} 00\ndone 11 ${digest}\ndone ${mark} ${digest}\n`);
    });
    await Promise.all([tell('a', [], soon()), tell('a', [], soon())]);
  });

  it('are not installed if the guest OS reports failure, nothing or too much, or is gone', async (t) => {
    const failed = await sendTo(t, (client, heard) => client.write(`failed ${heard.split(' ')[1]}\n`));
    await refuses(failed('a', [], soon()), 'host_error', /could not write/);
    const silent = await sendTo(t, () => undefined);
    await refuses(silent('a', [], AbortSignal.timeout(50)), 'timeout', /in time/);
    const noisy = await sendTo(t, (client) => client.write('x'.repeat(200_000)));
    await refuses(noisy('a', [], soon()), 'blocked', /invalid response/);
    const gone = await sendTo(t, (client) => client.end());
    await refuses(gone('a', [], soon()), 'blocked', /powered off/);
    await refuses(createKeyInstaller(() => '/nonexistent/keys')('a', [], soon()), 'blocked', /is off/);
  });
});
