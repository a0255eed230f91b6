/** Tells a guest its keys on the port that is for them: see vm/guest-keys.ts for what is said. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'node:net';
import { keysMessage } from '../../vm/guest-keys.ts';
import { HostError } from '../host.ts';

const TELL_MS = 15_000;
/** A guest says short lines and few of them; one that says more is not heard. */
const HEARD_BYTES_MAX = 64 * 1024;

const sendOnce = (socket: string, keys: readonly string[], signal: AbortSignal): Promise<void> => {
  const message = keysMessage(keys, randomBytes(8).toString('hex'));
  return new Promise((resolve, reject) => {
    const connection = createConnection(socket);
    let heard = '';
    let bytes = 0;
    let isSent = false;
    const end = (error: HostError | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      connection.destroy();
      if (error === null) resolve();
      else reject(error);
    };
    const abort = (): void => end(new HostError('timeout', 'The VM did not confirm its SSH keys in time.'));
    const timer = setTimeout(abort, TELL_MS);
    signal.addEventListener('abort', abort, { once: true });
    const hear = (line: string): void => {
      if (line === message.answer) end(null);
      else if (line === message.refusal)
        end(new HostError('host_error', 'The VM could not write its SSH keys; its disk may be full.'));
      else if (line === 'ready' && !isSent) {
        isSent = true;
        connection.write(message.bytes);
      }
    };
    connection.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > HEARD_BYTES_MAX)
        return end(new HostError('blocked', 'The VM returned an invalid response to its SSH keys.'));
      const lines = `${heard}${chunk.toString('latin1')}`.split('\n');
      heard = lines.pop() ?? '';
      for (const line of lines) hear(line);
    });
    connection.on('end', () =>
      end(new HostError('blocked', 'The VM powered off during SSH key installation. Start it and retry.')),
    );
    connection.on('error', (error: NodeJS.ErrnoException) => {
      const isOff = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(error.code ?? '');
      end(
        isOff
          ? new HostError('blocked', 'The VM is off, or it was created without support for key changes.')
          : new HostError('host_error', `SSH key installation failed (${error.code}).`, { cause: error }),
      );
    });
    if (signal.aborted) abort();
  });
};

/** One at a time for each machine: its port takes one client, and the later set is the one that stays. */
export const createKeyTeller = (socketOf: (machine: string) => string) => {
  const sending = new Map<string, Promise<void>>();
  return async (machine: string, keys: readonly string[], signal: AbortSignal): Promise<void> => {
    const before = sending.get(machine) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(() => sendOnce(socketOf(machine), keys, signal));
    sending.set(machine, mine);
    try {
      await mine;
    } finally {
      if (sending.get(machine) === mine) sending.delete(machine);
    }
  };
};
