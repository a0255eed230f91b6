/**
 * Verifies the signature of a wipe certificate. It needs only the certificate and the public keys: no network, and no trust
 * in the sender. Works where WebCrypto has Ed25519.
 */
import type { SignedWipeCertificate, WipeCertificateKey } from './api.gen.ts';

export type CertificateVerdict = Readonly<
  { is_valid: true; key: WipeCertificateKey } | { is_valid: false; reason: string }
>;

const FORMAT = 'gpuaas wipe certificate v1';

/** RFC 8785: names sorted, no space. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`;
};

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A file may contain anything; only data with all parts of a certificate is one. */
export const isSignedCertificate = (value: unknown): value is SignedWipeCertificate => {
  if (!isObject(value) || !isObject(value['certificate']) || !isObject(value['signature'])) return false;
  const { key_id, value: signature } = value['signature'];
  return typeof key_id === 'string' && typeof signature === 'string' && value['certificate']['format'] === FORMAT;
};

export const verifyWipeCertificate = async (
  { certificate, signature }: SignedWipeCertificate,
  keys: readonly WipeCertificateKey[],
): Promise<CertificateVerdict> => {
  const refuse = (reason: string): CertificateVerdict => ({ is_valid: false, reason });
  if (signature.algorithm !== 'Ed25519') return refuse('The signature algorithm is not supported.');
  const key = keys.find(({ key_id }) => key_id === signature.key_id);
  if (key === undefined) return refuse(`The server publishes no key ${signature.key_id}.`);
  if (key.state === 'revoked') return refuse(`The key ${key.key_id} was revoked; its signatures are invalid.`);
  const der = bytesOf(key.public_key_pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''));
  const given = bytesOf(signature.value);
  if (der === null || given === null) return refuse('The signature or its key cannot be read.');
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('spki', der, { name: 'Ed25519' }, false, ['verify']);
  const signed = new TextEncoder().encode(`${FORMAT}\n${canonicalJson(certificate)}`);
  return (await subtle.verify({ name: 'Ed25519' }, imported, given, signed))
    ? { is_valid: true, key }
    : refuse('The signature does not match: the certificate was changed, or another server issued it.');
};
