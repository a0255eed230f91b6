/**
 * Decides at every request whether an agent's certificate is valid. TLS checks only the chain; this also checks that we
 * issued the certificate, that its node still exists, that its CA is still trusted and that it was not revoked. Lookups
 * that arrive together are one query, so a reconnecting fleet does not cause one query per agent. A certificate in use
 * revokes the earlier ones of the same enrollment after a delay: requests that started with the old one can finish, and
 * a stolen copy becomes useless.
 */
import type { Clock } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { type CertificateRow, listGoodCertificates, listRevoked, revokePredecessors } from '../db/node-certificate.ts';
import { nodeIdOfNames } from '../ports/trust/x509.ts';
import type { PublicTrust } from './trust.ts';

export type Peer = Pick<CertificateRow, 'node_id' | 'node_name' | 'fingerprint_sha256' | 'enrollment_id' | 'host'>;

export type CertificateRegister = Readonly<{
  /** The node that the certificate names; undefined if the certificate is not valid. */
  find(fingerprint: string, subjectAltName: string | undefined): Promise<Peer | undefined>;
  /** The same for a certificate found before, without a query. */
  isGood(fingerprint: string): boolean;
  /** Reads recent revocations and revokes certificates that were replaced. */
  refresh(): Promise<void>;
}>;

type KnownCertificate = Peer & Readonly<{ ca_key_id: string; not_after_ms: number; has_predecessors: boolean }>;

/** Longer than a long poll. */
const SUCCEEDS_AFTER_MS = 30_000;
/** The lifetime of a certificate plus a margin. */
const REVOKED_WITHIN_S = 25 * 3600;
/** Covers revocations in transactions that were open this long. */
const OVERLAP_S = 300;

const toKnown = (row: CertificateRow): KnownCertificate => ({
  node_id: row.node_id,
  node_name: row.node_name,
  fingerprint_sha256: row.fingerprint_sha256,
  enrollment_id: row.enrollment_id,
  ca_key_id: row.ca_key_id,
  not_after_ms: Date.parse(row.not_after),
  has_predecessors: row.has_predecessors,
  host: row.host,
});

export const createCertificateRegister = (
  options: Readonly<{ database: Database; clock: Clock; trust: () => Pick<PublicTrust, 'ca_ids'> }>,
): CertificateRegister => {
  const { database, clock, trust } = options;
  const known = new Map<string, KnownCertificate>();
  /** Fingerprint to expiry of the certificate. */
  const revoked = new Map<string, number>();
  let refreshedMs: number | undefined;
  /** Fingerprints in use whose predecessors are not revoked yet, with the time of first use. */
  const succeeding = new Map<string, number>();
  let batch: { fingerprints: Set<string>; result: Promise<ReadonlyMap<string, KnownCertificate>> } | undefined;

  const lookUp = (fingerprint: string): Promise<ReadonlyMap<string, KnownCertificate>> => {
    if (batch === undefined) {
      const fingerprints = new Set<string>();
      const result = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
        batch = undefined;
        const rows = await database.read(PLATFORM, (reader) => listGoodCertificates(reader, [...fingerprints]));
        return new Map(rows.map((row) => [row.fingerprint_sha256, toKnown(row)]));
      });
      batch = { fingerprints, result };
    }
    batch.fingerprints.add(fingerprint);
    return batch.result;
  };

  const isValid = (one: KnownCertificate | undefined): boolean =>
    one !== undefined &&
    !revoked.has(one.fingerprint_sha256) &&
    one.not_after_ms > clock.now().getTime() &&
    trust().ca_ids.has(one.ca_key_id);

  return {
    find: async (fingerprint, subjectAltName) => {
      let one = known.get(fingerprint);
      // The host of a node that enrolled before hosts were bound is bound by its next poll: it is read until then.
      if ((one === undefined || one.host === null) && !revoked.has(fingerprint)) {
        one = (await lookUp(fingerprint)).get(fingerprint);
        if (one !== undefined) known.set(fingerprint, one);
        else known.delete(fingerprint);
      }
      if (one === undefined || !isValid(one) || one.node_id !== nodeIdOfNames(subjectAltName)) return undefined;
      if (one.has_predecessors) {
        known.set(fingerprint, { ...one, has_predecessors: false });
        succeeding.set(fingerprint, clock.now().getTime());
      }
      return one;
    },
    isGood: (fingerprint) => isValid(known.get(fingerprint)),
    refresh: async () => {
      const now = clock.now().getTime();
      const sinceS = refreshedMs === undefined ? REVOKED_WITHIN_S : (now - refreshedMs) / 1000 + OVERLAP_S;
      const rows = await database.read(PLATFORM, (reader) => listRevoked(reader, Math.min(sinceS, REVOKED_WITHIN_S)));
      for (const row of rows) revoked.set(row.fingerprint_sha256, Date.parse(row.not_after));
      refreshedMs = now;
      for (const [fingerprint, notAfter] of revoked) if (notAfter <= now) revoked.delete(fingerprint);
      for (const one of known.values())
        if (revoked.has(one.fingerprint_sha256) || one.not_after_ms <= now) known.delete(one.fingerprint_sha256);
      const due = [...succeeding].flatMap(([fingerprint, at]) => (at + SUCCEEDS_AFTER_MS <= now ? [fingerprint] : []));
      if (due.length > 0) await database.write(PLATFORM, (tx) => revokePredecessors(tx, due));
      for (const fingerprint of due) succeeding.delete(fingerprint);
    },
  };
};
