/** Installs SSH keys in a VM through its virtio port; `vm/guest-keys.ts` defines the protocol. */
import { randomBytes } from 'node:crypto';
import { createConnection } from 'node:net';
import { keysMessage } from '../../vm/guest-keys.ts';
import { HostError } from '../host.ts';

const INSTALL_MS = 15_000;
/** A guest OS sends few short lines; one that sends more is ignored. */
const RECEIVED_BYTES_MAX = 64 * 1024;

const sendOnce = (socket: string, keys: readonly string[], signal: AbortSignal): Promise<void> => {
  const message = keysMessage(keys, randomBytes(8).toString('hex'));
  return new Promise((resolve, reject) => {
    const connection = createConnection(socket);
    let received = '';
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
    const timer = setTimeout(abort, INSTALL_MS);
    signal.addEventListener('abort', abort, { once: true });
    const onLine = (line: string): void => {
      if (line === message.confirmation) end(null);
      else if (line === message.refusal)
        end(new HostError('host_error', 'The VM could not write its SSH keys; its disk may be full.'));
      else if (line === 'ready' && !isSent) {
        isSent = true;
        connection.write(message.bytes);
      }
    };
    connection.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > RECEIVED_BYTES_MAX)
        return end(new HostError('blocked', 'The VM returned an invalid response to its SSH keys.'));
      const lines = `${received}${chunk.toString('latin1')}`.split('\n');
      received = lines.pop() ?? '';
      for (const line of lines) onLine(line);
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

/** One at a time for each VM: its port takes one client, and the later set wins. */
export const createKeyInstaller = (socketOf: (vm: string) => string) => {
  const sending = new Map<string, Promise<void>>();
  return async (vm: string, keys: readonly string[], signal: AbortSignal): Promise<void> => {
    const before = sending.get(vm) ?? Promise.resolve();
    const current = before.catch(() => undefined).then(() => sendOnce(socketOf(vm), keys, signal));
    sending.set(vm, current);
    try {
      await current;
    } finally {
      if (sending.get(vm) === current) sending.delete(vm);
    }
  };
};
