/**
 * A TCP connection that can fail in the ways networks fail: cut, silent (nothing arrives, nothing is refused), pointed
 * at another process, or cut between a commit and its response.
 */

import { createConnection, createServer, type NetConnectOpts, type Socket } from 'node:net';

/** What PostgreSQL sends when a transaction is durable. */
const COMMIT_DONE = Buffer.from('COMMIT\0');

export type Valve = Readonly<{
  port: number;
  /** Where new connections go; null refuses them. Open ones are cut. */
  pointAt(upstream: NetConnectOpts | null): void;
  cut(): void;
  setSilent(isSilent: boolean): void;
  /** As a process that does not listen: open connections are cut, new ones refused. */
  setRefusing(isRefusing: boolean): void;
  /** The response to the next commit is lost, with its connection. */
  loseNextCommit(): void;
  close(): Promise<void>;
}>;

export const upstreamOf = (databaseUrl: string): NetConnectOpts => {
  const url = new URL(databaseUrl);
  const folder = url.searchParams.get('host');
  const port = url.port === '' ? 5432 : Number(url.port);
  return folder?.startsWith('/') ? { path: `${folder}/.s.PGSQL.${port}` } : { host: folder ?? url.hostname, port };
};

/** Listens on the socket `path`, or on a free port. */
export const openValve = async (first: NetConnectOpts | null, path?: string): Promise<Valve> => {
  let upstream = first;
  let isSilent = false;
  let isRefusing = false;
  let isCommitLost = false;
  const open = new Set<Socket>();

  const server = createServer((near) => {
    near.on('error', () => {});
    if (upstream === null || isRefusing) return void near.destroy();
    const far = createConnection(upstream);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        end();
      });
      if (isSilent) socket.pause();
    }
    near.on('data', (bytes) => void far.write(bytes));
    far.on('data', (bytes) => {
      if (isCommitLost && bytes.includes(COMMIT_DONE)) {
        isCommitLost = false;
        return end();
      }
      near.write(bytes);
    });
    if (isSilent) for (const socket of [near, far]) socket.pause();
  });
  await new Promise<void>((resolve) => {
    if (path === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(path, resolve);
  });
  const address = server.address();
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    pointAt: (next) => {
      upstream = next;
      cut();
    },
    cut,
    setSilent: (silent) => {
      isSilent = silent;
      for (const socket of open)
        if (silent) socket.pause();
        else socket.resume();
    },
    setRefusing: (refusing) => {
      isRefusing = refusing;
      if (refusing) cut();
    },
    loseNextCommit: () => {
      isCommitLost = true;
    },
    close: () => {
      upstream = null;
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
