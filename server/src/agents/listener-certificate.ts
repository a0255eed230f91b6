/**
 * The certificate of the node API listener, issued by the oldest trusted CA. It is replaced when that CA changes or at
 * half its lifetime.
 */
import type { Clock } from '@gpuaas/kit';
import { issueServerCertificate } from '../ports/trust/x509.ts';
import type { Trust } from './trust.ts';

const LIFE_S = 7 * 24 * 3600;

export type ListenerCertificate = Readonly<{ key: string; cert: string; ca: string }>;

export type ListenerCertificates = Readonly<{
  /** The certificate and trusted CAs; undefined when neither changed since the last call. */
  next(trust: Trust): Promise<ListenerCertificate | undefined>;
}>;

export const createListenerCertificates = (
  options: Readonly<{ names: readonly string[]; clock: Clock }>,
): ListenerCertificates => {
  let lastIssued: Readonly<{ ca_id: string; version: string; renew_at: number }> | undefined;
  let identity: Readonly<{ key: string; cert: string }> | undefined;
  return {
    next: async (trust) => {
      const now = options.clock.now();
      const isStale =
        lastIssued === undefined || lastIssued.ca_id !== trust.listener_ca.id || now.getTime() >= lastIssued.renew_at;
      if (!isStale && lastIssued?.version === trust.bundle.version) return undefined;
      if (isStale || identity === undefined) {
        const issued = await issueServerCertificate(trust.listener_ca.issuer, {
          names: options.names,
          now,
          life_s: LIFE_S,
        });
        identity = { key: issued.private_pem, cert: issued.certificate_pem };
      }
      lastIssued = {
        ca_id: trust.listener_ca.id,
        version: trust.bundle.version,
        renew_at: isStale ? now.getTime() + (LIFE_S * 1000) / 2 : (lastIssued?.renew_at ?? 0),
      };
      return { ...identity, ca: trust.bundle.ca_bundle_pem };
    },
  };
};
