/** Certificates of a fleet's agents, issued and stored as at enrollment; the agents are active before this run. */
import 'reflect-metadata';
import { createPublicKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import { TASK_KINDS } from '@gpuaas/contract/node';
import { silentLog, systemClock } from '@gpuaas/kit';
import * as x509 from '@peculiar/x509';
import { createTrustCache, type Trust } from '../../server/src/agents/trust.ts';
import { type Database, PLATFORM } from '../../server/src/db/client.ts';
import { createSecrets, type KeyRing } from '../../server/src/ports/secrets/secrets.ts';
import { createListenerCsr, issueNodeCertificate, issueServerCertificate } from '../../server/src/ports/trust/x509.ts';
import { nodeId } from '../placement/fleet.ts';

const LIFE_S = 24 * 3600;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

const STANDING = {
  agent_version: '0.1.0',
  boot_id: 'boot-1',
  booted_at: '2026-01-01T00:00:00.000Z',
  kinds: TASK_KINDS,
};

export type Agents = Readonly<{
  /** One key for all: the server's cost does not depend on it, and generating thousands takes long. */
  key: string;
  ca: string;
  standing: typeof STANDING & Readonly<{ trust_version: string }>;
  nodes: readonly Readonly<{ node_id: string; certificate_pem: string }>[];
}>;

export type ServerIdentity = Readonly<{ key: string; cert: string; ca: string }>;

export const readTrust = async (database: Database, keys: KeyRing): Promise<Trust> => {
  const secrets = createSecrets({ kind: 'trust', keys, active: () => 1 });
  return (await createTrustCache({ database, secrets, clock: systemClock, log: silentLog() })).current();
};

/** For a reference server with a certificate of the same kind. */
export const issueServer = async ({ ca, bundle }: Trust): Promise<ServerIdentity> => {
  const names = ['localhost', '127.0.0.1'];
  const { csr_pem, private_pem } = await createListenerCsr();
  const issued = await issueServerCertificate(ca.issuer, { csr_pem, names, now: new Date(), life_s: LIFE_S });
  return { key: private_pem, cert: issued.certificate_pem, ca: bundle.ca_bundle_pem };
};

const makeKey = async (): Promise<Readonly<{ key: string; csr_pem: string }>> => {
  const { subtle } = webcrypto;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'CN=bench',
    keys: {
      privateKey: await subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign']),
      publicKey: await subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
    },
    signingAlgorithm: ALGORITHM,
  });
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), csr_pem: csr.toString('pem') };
};

const ENROLLED = `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, expires_at, used_at)
  select 'enr_' || substr(id, 5), id, sha256(id::bytea), 'usr_bench', 'c-bench', clock_timestamp(), clock_timestamp() from nodes`;

const CERTIFIED = `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before, not_after)
  select c.serial_number, c.node_id, $2, 'enr_' || substr(c.node_id, 5), c.fingerprint_sha256, c.not_before, c.not_after
  from jsonb_to_recordset($1::jsonb) as c (serial_number text, node_id text, fingerprint_sha256 text, not_before timestamptz, not_after timestamptz)`;

/** As each agent reports it. */
const BOUND = `insert into node_hosts (node_id, product_serial, bound_at) select id, upper(id), clock_timestamp() from nodes`;

const SEEN = `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
  select id, clock_timestamp(), $1, $2, $3, $4 from nodes`;

export const enrollAll = async (database: Database, trust: Trust, count: number): Promise<Agents> => {
  const { key, csr_pem } = await makeKey();
  const nodes: { node_id: string; certificate_pem: string }[] = [];
  const rows: object[] = [];
  for (let n = 1; n <= count; n++) {
    const node_id = nodeId(n);
    const { certificate_pem, ...row } = await issueNodeCertificate(trust.ca.issuer, {
      csr_pem,
      node_id,
      now: new Date(),
      life_s: LIFE_S,
    });
    nodes.push({ node_id, certificate_pem });
    rows.push({ ...row, node_id });
  }
  await database.write(PLATFORM, async (tx) => {
    await tx.query(ENROLLED);
    await tx.query(BOUND);
    await tx.query(CERTIFIED, [JSON.stringify(rows), trust.ca.id]);
    await tx.query(SEEN, [STANDING.agent_version, STANDING.boot_id, STANDING.booted_at, STANDING.kinds]);
  });
  const { ca_bundle_pem, version } = trust.bundle;
  return { key, ca: ca_bundle_pem, standing: { ...STANDING, trust_version: version }, nodes };
};
