/**
 * Which certificates are let in. TLS has checked the chain when a connection came; this is what TLS cannot know: that
 * the certificate was really issued by us, to a node that still is one, by a CA still trusted, and was not revoked
 * since. It is asked at every request. Questions of the same moment are one query, so that a fleet that reconnects all
 * at once does not ask one by one. A certificate that is in use ends those before it of the same enrolment, a moment
 * later: what the agent began with the old one comes to its end, and a copy of it is worth nothing afterwards.
 */
import type { Clock } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { type CertificateRow, listGoodCertificates, listRevoked, revokePredecessors } from '../db/node-certificate.ts';
import { nodeIdOfNames } from '../ports/trust/x509.ts';
import type { Trust } from './trust.ts';

export type Peer = Readonly<{
  node_id: string;
  node_name: string;
  fingerprint_sha256: string;
  enrollment_id: string;
}>;

export type CertificateRegister = Readonly<{
  /** The node behind a certificate that names it; undefined for one that does not count. */
  find(fingerprint: string, subjectAltName: string | undefined): Promise<Peer | undefined>;
  /** The same for one that was found before, without asking the database. */
  isGood(fingerprint: string): boolean;
  /** Learns what was revoked since, and ends certificates that were replaced. */
  refresh(): Promise<void>;
}>;

type Known = Peer & Readonly<{ ca_key_id: string; not_after_ms: number; has_predecessors: boolean }>;

/** Longer than a poll rests. */
const SUCCEEDS_AFTER_MS = 30_000;
/** As long as a certificate lives, and a little. */
const REVOKED_WITHIN_S = 25 * 3600;
/** What was revoked in a transaction that took this long is not missed. */
const OVERLAP_S = 300;

const toKnown = (row: CertificateRow): Known => ({
  node_id: row.node_id,
  node_name: row.node_name,
  fingerprint_sha256: row.fingerprint_sha256,
  enrollment_id: row.enrollment_id,
  ca_key_id: row.ca_key_id,
  not_after_ms: Date.parse(row.not_after),
  has_predecessors: row.has_predecessors,
});

export const createCertificateRegister = (
  options: Readonly<{ database: Database; clock: Clock; trust: () => Trust }>,
): CertificateRegister => {
  const { database, clock, trust } = options;
  const known = new Map<string, Known>();
  /** Fingerprints, with when the certificate would have ended. */
  const revoked = new Map<string, number>();
  let refreshedMs: number | undefined;
  /** Fingerprints in use that ended nothing yet, with when they were first seen. */
  const succeeding = new Map<string, number>();
  let batch: { fingerprints: Set<string>; answered: Promise<ReadonlyMap<string, Known>> } | undefined;

  const ask = (fingerprint: string): Promise<ReadonlyMap<string, Known>> => {
    if (batch === undefined) {
      const fingerprints = new Set<string>();
      const answered = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
        batch = undefined;
        const rows = await database.read(PLATFORM, (reader) => listGoodCertificates(reader, [...fingerprints]));
        return new Map(rows.map((row) => [row.fingerprint_sha256, toKnown(row)]));
      });
      batch = { fingerprints, answered };
    }
    batch.fingerprints.add(fingerprint);
    return batch.answered;
  };

  const counts = (one: Known | undefined): boolean =>
    one !== undefined &&
    !revoked.has(one.fingerprint_sha256) &&
    one.not_after_ms > clock.now().getTime() &&
    trust().ca_ids.has(one.ca_key_id);

  return {
    find: async (fingerprint, subjectAltName) => {
      let one = known.get(fingerprint);
      if (one === undefined && !revoked.has(fingerprint)) {
        one = (await ask(fingerprint)).get(fingerprint);
        if (one !== undefined) known.set(fingerprint, one);
      }
      if (one === undefined || !counts(one) || one.node_id !== nodeIdOfNames(subjectAltName)) return undefined;
      if (one.has_predecessors) {
        known.set(fingerprint, { ...one, has_predecessors: false });
        succeeding.set(fingerprint, clock.now().getTime());
      }
      return one;
    },
    isGood: (fingerprint) => counts(known.get(fingerprint)),
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
