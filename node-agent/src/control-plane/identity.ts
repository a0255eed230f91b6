/**
 * The node's identity and its trust bundle, in two files of the state directory. Key and certificate share one file, so
 * that one never exists without the other. The key leaves the file only into TLS.
 */
import { X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeResponse, TrustBundle } from '@gpuaas/contract/node';
import { readIfThere, writeDurably } from './durable.ts';

export type Identity = Readonly<{
  node_id: string;
  private_key_pem: string;
  certificate_pem: string;
  not_after: string;
  renew_after: string;
}>;

export type Enrollment = Readonly<{ identity: Identity; trust: TrustBundle }>;

const identityPath = (state: string): string => join(state, 'identity.json');
const trustPath = (state: string): string => join(state, 'trust.json');

const readJson = async <T>(path: string): Promise<T | undefined> => {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch (err) {
    throw new Error(`${path} is unreadable; enroll this host again.`, { cause: err });
  }
};

/** Undefined until the host is enrolled. */
export const readEnrollment = async (state: string): Promise<Enrollment | undefined> => {
  const identity = await readJson<Identity>(identityPath(state));
  const trust = await readJson<TrustBundle>(trustPath(state));
  return identity === undefined || trust === undefined ? undefined : { identity, trust };
};

export const writeIdentity = (state: string, identity: Identity): Promise<void> =>
  writeDurably(identityPath(state), `${JSON.stringify(identity, null, 2)}\n`);

export const writeTrust = (state: string, trust: TrustBundle): Promise<void> =>
  writeDurably(trustPath(state), `${JSON.stringify(trust, null, 2)}\n`, 0o644);

/** Changes when another process enrolled this host again. */
export const identityVersion = async (state: string): Promise<string> => {
  const found = await stat(identityPath(state)).catch(() => undefined);
  return found === undefined ? '' : `${found.ino}:${found.mtimeMs}`;
};

export const identityOf = (answer: NodeResponse<'nodeEnroll'>, privateKeyPem: string): Identity => ({
  node_id: answer.node_id,
  private_key_pem: privateKeyPem,
  certificate_pem: answer.certificate_pem,
  not_after: answer.not_after,
  renew_after: answer.renew_after,
});

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export const certificatesOf = (bundlePem: string): readonly X509Certificate[] =>
  [...bundlePem.matchAll(PEM)].map(([pem]) => new X509Certificate(pem));

/** `AA:BB…`, `sha256:aabb…` and `aabb…` name the same fingerprint. */
export const normalizeFingerprint = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^sha256[:=]/, '')
    .replaceAll(':', '');

export const fingerprintOf = (certificate: X509Certificate): string => normalizeFingerprint(certificate.fingerprint256);
