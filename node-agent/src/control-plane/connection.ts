/**
 * The agent's enrollment: certificate, trust bundle and the client that uses them, replaced together. A new certificate
 * or bundle is used only after a call with it succeeded; until then the earlier one stays, in memory and on disk. If
 * the control plane refuses the certificate, one that another process enrolled is read from disk.
 */
import type { HostReport, TrustBundle } from '@gpuaas/contract/node';
import { type Signers, signersOf } from '../verify.ts';
import { type CallOptions, createClient, type NodeClient } from './client.ts';
import { createCsr, createKey, keyPem } from './csr.ts';
import { ControlPlaneError } from './errors.ts';
import {
  certificatesOf,
  type Enrollment,
  type Identity,
  identityOf,
  identityVersion,
  readEnrollment,
  writeIdentity,
  writeTrust,
} from './identity.ts';

export type Connection = Readonly<{
  node_id: string;
  identity(): Identity;
  trust(): TrustBundle;
  signers(): Signers;
  call: NodeClient['call'];
  stream: NodeClient['stream'];
  /** The next certificate, for a new key, on this host. */
  renew(host: HostReport): Promise<void>;
  refreshTrust(): Promise<void>;
  /** True when another process enrolled this host again; its certificate is used from now on. */
  reload(): Promise<boolean>;
  close(): void;
}>;

export class NotEnrolledError extends Error {
  override name = 'NotEnrolledError';
}

export const openConnection = async (
  options: Readonly<{ url: URL; state: string; version: string }>,
): Promise<Connection> => {
  const load = async (): Promise<Enrollment> => {
    const enrollment = await readEnrollment(options.state);
    if (enrollment === undefined)
      throw new NotEnrolledError(`This host is not enrolled (${options.state}): run gpuaas-node-agent enroll.`);
    return enrollment;
  };
  const clientOf = ({ identity, trust }: Enrollment): NodeClient =>
    createClient({ url: options.url, version: options.version, trust: { ca: trust.ca_bundle_pem, identity } });

  let version = await identityVersion(options.state);
  let enrollment = await load();
  let client = clientOf(enrollment);
  let signers = signersOf(enrollment.trust);
  const nodeId = enrollment.identity.node_id;

  const adopt = (next: Enrollment, fresh: NodeClient): void => {
    const before = client;
    signers = signersOf(next.trust);
    enrollment = next;
    client = fresh;
    before.retire();
  };

  /** A bundle that would lock the agent out, or contains no CA, is not accepted. */
  const proven = async (next: Enrollment): Promise<NodeClient> => {
    if (certificatesOf(next.trust.ca_bundle_pem).length === 0)
      throw new ControlPlaneError('failed', 'The trust bundle holds no certificate.');
    const fresh = clientOf(next);
    try {
      await fresh.call('trustBundleGet');
      return fresh;
    } catch (err) {
      fresh.close();
      throw err;
    }
  };

  return {
    node_id: nodeId,
    identity: () => enrollment.identity,
    trust: () => enrollment.trust,
    signers: () => signers,
    call: (operation, call) => client.call(operation, call),
    stream: (operation, call) => client.stream(operation, call),
    renew: async (host) => {
      const key = await createKey();
      const call: CallOptions<'certificateRenew'> = {
        params: { node_id: nodeId },
        body: { csr_pem: createCsr(key, nodeId), host },
      };
      const answer = await client.call('certificateRenew', call);
      if (answer.node_id !== nodeId)
        throw new ControlPlaneError('failed', 'The issued certificate names another node.');
      const next = { identity: identityOf(answer, keyPem(key)), trust: answer.trust };
      const fresh = await proven(next);
      await writeTrust(options.state, next.trust);
      await writeIdentity(options.state, next.identity);
      version = await identityVersion(options.state);
      adopt(next, fresh);
    },
    refreshTrust: async () => {
      const trust = await client.call('trustBundleGet');
      if (trust.version === enrollment.trust.version) return;
      const next = { identity: enrollment.identity, trust };
      const fresh = await proven(next);
      await writeTrust(options.state, trust);
      adopt(next, fresh);
    },
    reload: async () => {
      const found = await identityVersion(options.state);
      if (found === version || found === '') return false;
      const next = await load();
      // Another node's certificate does not make this process another node: its journal belongs to the first.
      if (next.identity.node_id !== nodeId) return false;
      version = found;
      adopt(next, clientOf(next));
      return true;
    },
    close: () => client.close(),
  };
};
