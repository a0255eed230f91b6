/**
 * Who is at the other end of a connection. The certificate is read once per connection; whether it counts is asked at
 * every request, because a connection may outlive its certificate's good standing.
 */
import type { TLSSocket } from 'node:tls';
import { AppError } from '../errors.ts';
import type { CertificateRegister, Peer } from '../services/node-certificate.ts';

type Shown = {
  fingerprint: string;
  subjectAltName: string | undefined;
  /** Why TLS does not trust it; null when it does. */
  distrust: string | null;
  isAdmitted: boolean;
};

export type Peers = Readonly<{
  /** The node that asks, or a refusal. */
  admit(socket: TLSSocket): Promise<Peer>;
  /** Ends connections whose certificate counts no more. */
  sweep(): number;
  forget(socket: TLSSocket): void;
}>;

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

export const createPeers = (register: CertificateRegister): Peers => {
  const shown = new Map<TLSSocket, Shown | null>();
  return {
    admit: async (socket) => {
      let one = shown.get(socket);
      if (one === undefined) {
        one = read(socket);
        shown.set(socket, one);
      }
      if (one === null) throw refused('This route needs the certificate of a node.');
      if (one.distrust !== null) throw refused(`The certificate is not trusted here (${one.distrust}).`);
      const peer = await register.find(one.fingerprint, one.subjectAltName);
      if (peer === undefined) throw refused('The certificate was revoked, has ended or was not issued here.');
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
    forget: (socket) => void shown.delete(socket),
  };
};
