/**
 * The peer of a connection. The certificate is read once per connection; whether it is valid is checked at every
 * request, because a connection may outlive its certificate.
 */
import type { Server, TLSSocket } from 'node:tls';
import type { Log } from '@gpuaas/kit';
import type { CertificateRegister, Peer } from '../agents/certificate-register.ts';
import type { ListenerCertificate } from '../agents/listener-certificate.ts';
import { AppError } from '../errors.ts';

/** For a listener of agents. A client with a missing or bad certificate gets an explanation; some may still enroll. */
export const agentTls = ({ key, cert, ca }: ListenerCertificate) => ({
  key,
  cert,
  ca,
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.3' as const,
});

type Shown = {
  fingerprint: string;
  subjectAltName: string | undefined;
  /** Why TLS does not trust it; null when it does. */
  distrust: string | null;
  isAdmitted: boolean;
};

/** Tracks the connections of a listener. A failed handshake is normal on an open port. */
export const watchPeers = (server: Server, peers: Peers, log: Log): void => {
  server.on('secureConnection', (socket) => {
    socket.once('close', () => peers.forget(socket));
    peers.track(socket);
  });
  server.on('tlsClientError', (err, socket) => {
    log.debug({ err, source_ip: socket.remoteAddress }, 'TLS handshake failed');
    socket.destroy();
  });
};

export type Peers = Readonly<{
  /** Reads the peer; above the connection limit of one certificate the oldest connection ends. */
  track(socket: TLSSocket): void;
  /** The calling node, or a refusal. */
  admit(socket: TLSSocket): Promise<Peer>;
  /** Ends connections whose certificate is no longer valid. */
  sweep(): number;
  forget(socket: TLSSocket): void;
}>;

/** A working agent has a few connections; leftovers of a broken network end before new ones are refused. */
const CONNECTIONS_MAX = 16;

const read = (socket: TLSSocket): Shown | null => {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  return {
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    subjectAltName: certificate.subjectAltName,
    distrust: socket.authorized ? null : String(socket.authorizationError ?? 'not trusted'),
    isAdmitted: false,
  };
};

export const refused = (sentence: string): AppError => new AppError('permission_denied', sentence);

export const createPeers = (register: CertificateRegister, connectionsMax = CONNECTIONS_MAX): Peers => {
  const shown = new Map<TLSSocket, Shown | null>();
  /** Oldest first. */
  const byCertificate = new Map<string, Set<TLSSocket>>();
  return {
    track: (socket) => {
      const one = read(socket);
      shown.set(socket, one);
      if (one === null) return;
      const sockets = byCertificate.get(one.fingerprint) ?? new Set();
      byCertificate.set(one.fingerprint, sockets.add(socket));
      for (const oldest of sockets) {
        if (sockets.size <= connectionsMax) return;
        sockets.delete(oldest);
        oldest.destroy();
      }
    },
    admit: async (socket) => {
      const one = shown.get(socket) ?? null;
      if (one === null) throw refused('This route requires a node certificate.');
      if (one.distrust !== null) throw refused(`The certificate is not trusted (${one.distrust}).`);
      const peer = await register.find(one.fingerprint, one.subjectAltName);
      if (peer === undefined) throw refused('The certificate is revoked, expired or unknown.');
      one.isAdmitted = true;
      return peer;
    },
    sweep: () => {
      let ended = 0;
      for (const [socket, one] of shown) {
        if (one?.isAdmitted !== true || register.isGood(one.fingerprint)) continue;
        socket.destroy();
        ended += 1;
      }
      return ended;
    },
    forget: (socket) => {
      const one = shown.get(socket);
      shown.delete(socket);
      const sockets = one == null ? undefined : byCertificate.get(one.fingerprint);
      sockets?.delete(socket);
      if (one != null && sockets?.size === 0) byCertificate.delete(one.fingerprint);
    },
  };
};
