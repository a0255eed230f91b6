/**
 * Keys and certificates of the agent channel. A certificate contains only the control plane's decisions: of a signing
 * request only the public key is used, once the request proves that its sender holds the private half. Certificates of
 * nodes can only be clients, those of the listener only a server, and a CA cannot sign other CAs.
 */
import 'reflect-metadata';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  webcrypto,
} from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

export type TrustKeyMaterial = Readonly<{
  /** A certificate for a CA, a public key for a signer. */
  public_pem: string;
  private_pem: string;
  fingerprint_sha256: string;
}>;

export type Issuer = Readonly<{ certificate: x509.X509Certificate; key: webcrypto.CryptoKey }>;

export type IssuedCertificate = Readonly<{
  certificate_pem: string;
  serial_number: string;
  fingerprint_sha256: string;
  not_before: string;
  not_after: string;
}>;

/** Why a signing request is refused, for its sender. */
export class CsrError extends Error {
  override name = 'CsrError';
}

const SIGNING = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const CA_LIFE_MS = 10 * 365 * 24 * 3_600_000;
/** A certificate is valid from slightly before its creation, for hosts whose clock is behind. */
const BACKDATED_MS = 5 * 60_000;

const sha256 = (bytes: ArrayBuffer | Buffer): string =>
  createHash('sha256')
    .update(Buffer.from(bytes as ArrayBuffer))
    .digest('hex');

/** Positive, without a leading zero byte, so that every reader prints it the same. */
const mintSerial = (): string => {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
};

const pkcs8Pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const exportPem = async (key: webcrypto.CryptoKey): Promise<string> =>
  pkcs8Pem(
    createPrivateKey({
      key: Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)),
      format: 'der',
      type: 'pkcs8',
    }),
  );

const generateEc = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(SIGNING, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

/** `name` distinguishes roots: with two trusted at once, a chain is found by the issuer's name. */
export const createCa = async (name: string, now: Date): Promise<TrustKeyMaterial> => {
  const keys = await generateEc();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: mintSerial(),
      name: `CN=${name},O=GPUaaS`,
      notBefore: new Date(now.getTime() - BACKDATED_MS),
      notAfter: new Date(now.getTime() + CA_LIFE_MS),
      signingAlgorithm: SIGNING,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return {
    public_pem: `${certificate.toString('pem')}\n`,
    private_pem: await exportPem(keys.privateKey),
    fingerprint_sha256: sha256(certificate.rawData),
  };
};

export const createSigner = async (): Promise<TrustKeyMaterial> => {
  const { publicKey, privateKey } = (await webcrypto.subtle.generateKey('Ed25519', true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const der = Buffer.from(await webcrypto.subtle.exportKey('spki', publicKey));
  return {
    public_pem: createPublicKey({ key: der, format: 'der', type: 'spki' })
      .export({ type: 'spki', format: 'pem' })
      .toString(),
    private_pem: await exportPem(privateKey),
    fingerprint_sha256: sha256(der),
  };
};

export const openIssuer = async (certificatePem: string, privatePem: string): Promise<Issuer> => {
  const der = createPrivateKey(privatePem).export({ type: 'pkcs8', format: 'der' });
  return {
    certificate: new x509.X509Certificate(certificatePem),
    key: await webcrypto.subtle.importKey('pkcs8', der, SIGNING, false, ['sign']),
  };
};

export const openSigner = (privatePem: string): KeyObject => createPrivateKey(privatePem);

/** Ed25519, base64. Synchronous: passing it to another thread would double the cost. */
export const signBytes = (signer: KeyObject, bytes: Buffer): string => sign(null, bytes, signer).toString('base64');

const isAllowedKey = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'ed25519' ||
  (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1');

/** The key that a signing request is for, once it is proved to be its sender's. */
const keyOfCsr = async (csrPem: string): Promise<x509.PublicKey> => {
  let csr: x509.Pkcs10CertificateRequest;
  let key: KeyObject;
  try {
    csr = new x509.Pkcs10CertificateRequest(csrPem);
    key = createPublicKey({ key: Buffer.from(csr.publicKey.rawData), format: 'der', type: 'spki' });
  } catch (err) {
    throw new CsrError('The signing request cannot be read; send PKCS #10 as PEM.', { cause: err });
  }
  if (!isAllowedKey(key)) throw new CsrError('The key must be EC P-256 or Ed25519.');
  if (!(await csr.verify(webcrypto).catch(() => false)))
    throw new CsrError('The signing request is not signed by the key that it is for.');
  return csr.publicKey;
};

type CertificateRequest = Readonly<{
  subject: string;
  public_key: x509.PublicKey | webcrypto.CryptoKey;
  usage: '1.3.6.1.5.5.7.3.1' | '1.3.6.1.5.5.7.3.2';
  names: x509.JsonGeneralNames;
  now: Date;
  life_s: number;
}>;

const issue = async (issuer: Issuer, wanted: CertificateRequest): Promise<IssuedCertificate> => {
  const serial = mintSerial();
  const notBefore = new Date(wanted.now.getTime() - BACKDATED_MS);
  const notAfter = new Date(wanted.now.getTime() + wanted.life_s * 1000);
  // Certificates count whole seconds.
  for (const time of [notBefore, notAfter]) time.setUTCMilliseconds(0);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: serial,
      subject: wanted.subject,
      issuer: issuer.certificate.subject,
      notBefore,
      notAfter,
      publicKey: wanted.public_key,
      signingKey: issuer.key,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([wanted.usage], true),
        new x509.SubjectAlternativeNameExtension(wanted.names, false),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.certificate.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return {
    certificate_pem: `${certificate.toString('pem')}\n`,
    serial_number: serial,
    fingerprint_sha256: sha256(certificate.rawData),
    not_before: notBefore.toISOString(),
    not_after: notAfter.toISOString(),
  };
};

const NODE_URI = 'spiffe://gpuaas/node/';

export const issueNodeCertificate = async (
  issuer: Issuer,
  wanted: Readonly<{ csr_pem: string; node_id: string; now: Date; life_s: number }>,
): Promise<IssuedCertificate> =>
  issue(issuer, {
    subject: `CN=${wanted.node_id}`,
    public_key: await keyOfCsr(wanted.csr_pem),
    usage: '1.3.6.1.5.5.7.3.2',
    names: [{ type: 'url', value: `${NODE_URI}${wanted.node_id}` }],
    now: wanted.now,
    life_s: wanted.life_s,
  });

export const issueServerCertificate = async (
  issuer: Issuer,
  wanted: Readonly<{ csr_pem: string; names: readonly string[]; now: Date; life_s: number }>,
): Promise<IssuedCertificate> =>
  issue(issuer, {
    subject: 'CN=gpuaas-listener',
    public_key: await keyOfCsr(wanted.csr_pem),
    usage: '1.3.6.1.5.5.7.3.1',
    names: wanted.names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
    now: wanted.now,
    life_s: wanted.life_s,
  });

/** The key of a listener, and the request to sign it. */
export const createListenerCsr = async (): Promise<Readonly<{ csr_pem: string; private_pem: string }>> => {
  const keys = await generateEc();
  const csr = await x509.Pkcs10CertificateRequestGenerator.create(
    { name: 'CN=gpuaas-listener', keys, signingAlgorithm: SIGNING },
    webcrypto,
  );
  return { csr_pem: csr.toString('pem'), private_pem: await exportPem(keys.privateKey) };
};

/**
 * The node that a certificate of ours names, from its subject alternative names as Node spells them; null for others.
 */
export const nodeIdOfNames = (subjectAltName: string | undefined): string | null => {
  const match = /^URI:spiffe:\/\/gpuaas\/node\/(nod_[0-9a-hjkmnp-tv-z]{26})$/.exec(subjectAltName ?? '');
  return match?.[1] ?? null;
};
