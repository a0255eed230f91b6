/**
 * A shell with a terminal, over SSH from the host into the VM or to the host's own server: an ordinary login session.
 * The key is created for the session, kept in memory and removed at its end. The server's host key is compared with the
 * one that the guest reported, or that the host has.
 *
 * The guest and its SSH server are untrusted. The SSH library buffers data beyond its window and responds whether or
 * not it reads, so buffers are bounded here in both directions.
 */
import type { Duplex } from 'node:stream';
import type { ClientChannel, ServerHostKeyAlgorithm } from 'ssh2';
import { SESSION_KEY_OPTIONS } from '../vm/guest-keys.ts';
import { type Exit, type Target, writeTo } from './target.ts';

/** Loaded for the first terminal: an agent without terminals does not need it. */
const load = async () => (await import('ssh2')).default;

export type SessionKey = Readonly<{ private_key: string; authorized: string }>;

export const createSessionKey = async (): Promise<SessionKey> => {
  const ssh2 = await load();
  let made = ssh2.utils.generateKeyPairSync('ed25519');
  // The library drops the first byte of a public key if it is zero (1 in 256), and can then parse neither half.
  while (ssh2.utils.parseKey(made.private) instanceof Error) made = ssh2.utils.generateKeyPairSync('ed25519');
  const { private: private_key, public: publicKey } = made;
  const [type, encoded] = publicKey.split(' ');
  return { private_key, authorized: `${SESSION_KEY_OPTIONS} ${type} ${encoded}` };
};

export type ShellOptions = Readonly<{
  socket: Duplex;
  username: string;
  key: SessionKey;
  /** As OpenSSH writes it: type and key. */
  host_key: string;
  cols: number;
  rows: number;
}>;

const READY_MS = 15_000;
/** More than a server that respects its window ever makes the agent buffer, in either direction. */
export const HELD_BYTES_MAX = 4 * 1024 * 1024;

/** Only by a key of the known type: a server has several. */
const algorithmsOf = (type: string): ServerHostKeyAlgorithm[] =>
  type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type as ServerHostKeyAlgorithm];

/** Resolves when the connection has room again, or is gone. The library itself does not wait for it. */
const drained = (socket: Duplex): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    if (!socket.writableNeedDrain || socket.destroyed) return done();
    socket.on('drain', done);
    socket.on('close', done);
  });

const shellTarget = (channel: ClientChannel, socket: Duplex): Target => {
  const exit = Promise.withResolvers<Exit | null>();
  channel.on('exit', (code: number | null, signal?: string) =>
    exit.resolve({ code: code ?? null, signal: signal?.slice(0, 32) ?? null }),
  );
  channel.on('close', () => exit.resolve(null));
  channel.on('error', () => undefined);
  return {
    output: channel,
    write: async (bytes) => {
      await writeTo(channel, bytes);
      await drained(socket);
    },
    end: () => void channel.end(),
    resize: (cols, rows) => channel.setWindow(rows, cols, 0, 0),
    exit: exit.promise,
    ends_with_output: true,
    close: () => void socket.destroy(),
  };
};

export const openShell = async (given: ShellOptions, signal: AbortSignal): Promise<Target> => {
  const ssh2 = await load();
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    const [type = '', encoded = ''] = given.host_key.split(' ');
    const expected = Buffer.from(encoded, 'base64');
    let isOver = false;
    const fail = (error: Error): void => {
      isOver = true;
      signal.removeEventListener('abort', abort);
      client.on('error', () => undefined);
      given.socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(new Error('the session ended'));
    let shell: ClientChannel | undefined;
    const refuseTooMuch = (): void => {
      const held = Math.max(shell?.readableLength ?? 0, given.socket.writableLength);
      if (held > HELD_BYTES_MAX) given.socket.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    client.once('error', fail);
    client.once('close', () => fail(new Error('the other end closed the connection')));
    // A connection may be half-closed. The library then waits for the other half without a keepalive.
    client.once('end', () => {
      isOver = true;
      given.socket.destroy();
    });
    client.once('ready', () =>
      client.shell(
        { term: 'xterm-256color', cols: given.cols, rows: given.rows, width: 0, height: 0 },
        (error, channel) => {
          if (error) return fail(error);
          signal.removeEventListener('abort', abort);
          client.removeAllListeners('error');
          client.removeAllListeners('close');
          client.on('error', () => channel.destroy());
          // A terminal has one output; anything beside it is dropped.
          channel.stderr.resume();
          shell = channel;
          resolve(shellTarget(channel, given.socket));
        },
      ),
    );
    if (signal.aborted) return abort();
    try {
      client.connect({
        sock: given.socket,
        username: given.username,
        privateKey: given.key.private_key,
        // Deferred by one turn: a server in this process would otherwise receive our next message before it finished
        // its own. Never after the end: the library throws where it cannot be caught.
        hostVerifier: (key: Buffer, decide: (isKnown: boolean) => void) =>
          void setImmediate(() => isOver || decide(expected.length > 0 && key.equals(expected))),
        algorithms: { serverHostKey: algorithmsOf(type) },
        readyTimeout: READY_MS,
        keepaliveInterval: 30_000,
        keepaliveCountMax: 3,
      });
    } catch (error) {
      // A key of a type that the library does not know.
      return fail(error as Error);
    }
    // After the library's own listener.
    given.socket.on('data', refuseTooMuch);
  });
};
