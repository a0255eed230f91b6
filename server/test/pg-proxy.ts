/**
 * A proxy between the server and PostgreSQL on loopback that breaks one connection at a chosen moment. It watches the
 * bytes for a marker that only one transaction sends, so that no other is affected. It can also go silent, as a network
 * does whose path is lost: nothing is closed, and nothing arrives.
 */

import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Socket } from 'node:net';

export type CutPoint = 'before the commit is sent' | 'after the commit succeeded';

export type PgProxy = Readonly<{
  /** The same database through the proxy. */
  url: string;
  /** Cuts the next connection that sends the marker; resolves once it was cut. */
  cut(marker: string, point: CutPoint): Promise<void>;
  /** From now on no byte passes: established connections are lost for good, new ones are accepted and get no response. */
  silence(): void;
  /**
   * New connections work again; those from before stay silent, as behind a firewall that forgot them. The keepalive of
   * PostgreSQL has ended their sessions, and the locks of these, by then.
   */
  heal(): void;
  /** Connections that were made. */
  connections(): number;
}>;

const COMMIT_SENT = Buffer.from('commit\0');
const COMMIT_DONE = Buffer.from('COMMIT\0');

type Trap = { marker: Buffer; point: CutPoint; sprung: () => void };

const upstreamOf = (url: URL) => {
  const folder = url.searchParams.get('host');
  const port = url.port === '' ? 5432 : Number(url.port);
  return folder?.startsWith('/') ? { path: `${folder}/.s.PGSQL.${port}` } : { host: folder ?? url.hostname, port };
};

export const startPgProxy = async (
  t: Readonly<{ after(fn: () => Promise<void>): void }>,
  databaseUrl: string,
): Promise<PgProxy> => {
  const target = new URL(databaseUrl);
  let trap: Trap | undefined;
  const open = new Set<Socket>();
  /** The ends of PostgreSQL that it will not hear of again. */
  const lostSessions = new Set<Socket>();
  const sessions = new Set<Socket>();
  let isSilent = false;
  let epoch = 0;
  let connections = 0;

  const server = createServer((near) => {
    connections += 1;
    const own = epoch;
    const isLost = () => isSilent || own !== epoch;
    if (isLost()) {
      open.add(near);
      near.on('error', () => {});
      near.on('close', () => open.delete(near));
      near.resume();
      return;
    }
    const far = createConnection(upstreamOf(target));
    sessions.add(far);
    far.on('close', () => sessions.delete(far));
    let caught: Trap | undefined;
    const cut = () => {
      near.destroy();
      far.destroy();
      caught?.sprung();
    };
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        // The other end does not notice.
        if (isLost()) return;
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (bytes) => {
      if (isLost()) return;
      if (trap !== undefined && bytes.includes(trap.marker)) {
        caught = trap;
        trap = undefined;
      }
      if (caught?.point === 'before the commit is sent' && bytes.includes(COMMIT_SENT)) return cut();
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (isLost()) return;
      // PostgreSQL responds to COMMIT when the transaction is durable; that response is lost.
      if (caught?.point === 'after the commit succeeded' && bytes.includes(COMMIT_DONE)) return cut();
      near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(
    () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`,
    cut: (marker, point) =>
      new Promise((resolve) => {
        trap = { marker: Buffer.from(marker), point, sprung: resolve };
      }),
    silence: () => {
      isSilent = true;
      epoch += 1;
      for (const session of sessions) lostSessions.add(session);
    },
    heal: () => {
      isSilent = false;
      for (const session of lostSessions) session.destroy();
      lostSessions.clear();
    },
    connections: () => connections,
  };
};
