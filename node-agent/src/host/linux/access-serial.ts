/**
 * The serial console of a VM. Its socket takes one client, so all viewers share one connection, which is open while
 * there are viewers. The console is always read: a slow viewer misses data, with a marker in its place, and neither the
 * VM nor other viewers wait for it.
 *
 * A viewer first gets recent output: the first viewer the end of the log without what the new connection repeats, later
 * ones what was buffered since.
 */
import { open } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { HostError, type SerialLine } from '../host.ts';

export const HISTORY_BYTES = 16 * 1024;
export const VIEWER_BYTES_MAX = 256 * 1024;
/** Input that the VM has not read: a typing client waits, but input of disconnected clients counts too. */
export const TYPED_BYTES_MAX = 256 * 1024;
export const MISSED = Buffer.from('\r\n[some output is missing here: this viewer was too slow]\r\n');

export type SerialPaths = Readonly<{ serial: string; console: string }>;

const tailOf = async (file: string): Promise<Buffer> => {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const length = Math.min(size, HISTORY_BYTES);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
};

/** The log and the console have the same output; the overlap is shown once. */
export const joinHistory = (log: Buffer, live: Buffer): Buffer => {
  for (let length = Math.min(log.length, live.length); length > 0; length--)
    if (log.subarray(log.length - length).equals(live.subarray(0, length)))
      return Buffer.concat([log, live.subarray(length)]);
  return Buffer.concat([log, live]);
};

const connectLine = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const isOff = error.code === 'ENOENT' || error.code === 'ECONNREFUSED';
      reject(
        isOff
          ? new HostError(
              'blocked',
              'The VM is off, or it was started without a connectable console; stop and start it.',
              { cause: error },
            )
          : new HostError('host_error', `Connecting to the console failed (${error.code}).`, { cause: error }),
      );
    });
  });

type Viewer = Readonly<{ output: Readable; take(chunk: Buffer): void }>;

const createViewer = (): Viewer => {
  const output = new Readable({ highWaterMark: VIEWER_BYTES_MAX, read: () => undefined });
  let hasMissed = false;
  return {
    output,
    take: (chunk) => {
      if (output.destroyed) return;
      if (output.readableLength + chunk.length > VIEWER_BYTES_MAX) {
        hasMissed = true;
        return;
      }
      if (hasMissed) output.push(MISSED);
      hasMissed = false;
      output.push(chunk);
    },
  };
};

type Hub = Readonly<{ join(): SerialLine }>;

const openHub = async ({ serial, console: log }: SerialPaths, onEmpty: () => void): Promise<Hub> => {
  const socket = await connectLine(serial);
  const viewers = new Set<Viewer>();
  let kept: Buffer = Buffer.alloc(0);
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    onEmpty();
    for (const { output } of viewers) output.push(null);
  };
  socket.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-HISTORY_BYTES);
    for (const viewer of viewers) viewer.take(chunk);
  });
  socket.once('close', end);
  const before = await tailOf(log).catch((error: unknown) => {
    end();
    throw error;
  });
  kept = joinHistory(before, kept).subarray(-HISTORY_BYTES);

  return {
    join: () => {
      const viewer = createViewer();
      viewers.add(viewer);
      if (kept.length > 0) viewer.take(Buffer.from(kept));
      if (isOver) viewer.output.push(null);
      const close = (): void => {
        viewer.output.destroy();
        viewers.delete(viewer);
        if (viewers.size === 0) end();
      };
      return {
        output: viewer.output,
        close,
        write: (bytes) =>
          new Promise((resolve, reject) => {
            if (isOver) return reject(new HostError('blocked', 'The VM is off.'));
            if (socket.writableLength > TYPED_BYTES_MAX)
              return reject(new HostError('blocked', 'The VM does not read console input.'));
            socket.write(bytes, (error) => (error ? reject(new HostError('blocked', 'The VM is off.')) : resolve()));
          }),
      };
    },
  };
};

/** `pathsOf` returns where the console of a VM is. */
export const createSerial = (pathsOf: (machine: string) => SerialPaths) => {
  const hubs = new Map<string, Promise<Hub>>();
  return async (machine: string): Promise<SerialLine> => {
    const known = hubs.get(machine);
    const forget = (): void => {
      if (hubs.get(machine) === hub) hubs.delete(machine);
    };
    const hub: Promise<Hub> = known ?? openHub(pathsOf(machine), () => forget());
    hubs.set(machine, hub);
    try {
      return (await hub).join();
    } catch (error) {
      if (hubs.get(machine) === hub) hubs.delete(machine);
      throw error;
    }
  };
};
