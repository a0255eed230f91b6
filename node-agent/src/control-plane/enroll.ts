/**
 * Enrolls a host as a node. The host was installed with the fingerprint of the control plane's root CA: the only thing
 * taken from an unverified connection is the certificate with this fingerprint. After that the agent talks only to a
 * server with a certificate of that CA, and sends the token to no other. Enrolling again after a long absence replaces
 * key, certificate and trust; the journal and everything running on the host stay.
 */
import type { NodeBody } from '@gpuaas/contract/node';
import { type ClientTrust, createClient, type NodeClient } from './client.ts';
import { createCsr, createKey, keyPem } from './csr.ts';
import { ControlPlaneError } from './errors.ts';
import {
  certificatesOf,
  fingerprintOf,
  type Identity,
  identityOf,
  normalizeFingerprint,
  writeIdentity,
  writeTrust,
} from './identity.ts';

export type EnrollOptions = Readonly<{
  url: URL;
  ca_sha256: string;
  token: string;
  state: string;
  hostname: string;
  status: Pick<NodeBody<'nodeEnroll'>, 'agent_version' | 'boot_id' | 'booted_at' | 'kinds' | 'host'>;
}>;

const using = async <T>(
  options: Readonly<{ url: URL; trust: ClientTrust; version: string }>,
  work: (client: NodeClient) => Promise<T>,
): Promise<T> => {
  const client = createClient(options);
  try {
    return await work(client);
  } finally {
    client.close();
  }
};

/** The root with this fingerprint, as PEM. */
const fetchRoot = async (options: EnrollOptions): Promise<string> => {
  const wanted = normalizeFingerprint(options.ca_sha256);
  if (!/^[0-9a-f]{64}$/.test(wanted))
    throw new ControlPlaneError('invalid', 'The CA fingerprint must be 64 hexadecimal digits (SHA-256).');
  const bundle = await using({ url: options.url, trust: 'anyone', version: options.status.agent_version }, (client) =>
    client.call('trustBundleGet'),
  );
  const root = certificatesOf(bundle.ca_bundle_pem).find((certificate) => fingerprintOf(certificate) === wanted);
  if (root === undefined)
    throw new ControlPlaneError(
      'untrusted',
      `No certificate of ${options.url.host} has the fingerprint ${wanted}: this is another control plane, or its root was rotated. Nothing was sent to it.`,
    );
  return root.toString();
};

export const enroll = async (options: EnrollOptions): Promise<Identity> => {
  const root = await fetchRoot(options);
  const key = await createKey();
  const answer = await using(
    { url: options.url, trust: { ca: root }, version: options.status.agent_version },
    (client) =>
      client.call('nodeEnroll', {
        body: {
          token: options.token,
          csr_pem: createCsr(key, options.hostname),
          hostname: options.hostname,
          ...options.status,
        },
      }),
  );
  const identity = identityOf(answer, keyPem(key));
  await writeTrust(options.state, answer.trust);
  await writeIdentity(options.state, identity);
  return identity;
};
