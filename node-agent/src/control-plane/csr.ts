/**
 * The node's key and its certificate signing request. A request is four nested DER values, so it is written here
 * instead of by a library that every host would need. The control plane decides what the certificate says: the
 * requested subject is only a name for the log.
 */
import { createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

const generate = promisify(generateKeyPair);

export const createKey = async (): Promise<KeyObject> => (await generate('ec', { namedCurve: 'P-256' })).privateKey;

export const keyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const lengthOf = (size: number): Buffer => {
  if (size < 0x80) return Buffer.of(size);
  if (size < 0x100) return Buffer.of(0x81, size);
  return Buffer.of(0x82, size >> 8, size & 0xff);
};
const tlv = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(body.length), body]);
};
const sequence = (...parts: readonly Buffer[]): Buffer => tlv(0x30, ...parts);

/** id-at-commonName, 2.5.4.3 */
const COMMON_NAME = tlv(0x06, Buffer.of(0x55, 0x04, 0x03));
/** ecdsa-with-SHA256, 1.2.840.10045.4.3.2 */
const ECDSA_SHA256 = sequence(tlv(0x06, Buffer.of(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)));
const VERSION_0 = tlv(0x02, Buffer.of(0));
const NO_ATTRIBUTES = tlv(0xa0);

/** A PKCS #10 request as PEM, signed by the key it is for. */
export const createCsr = (key: KeyObject, commonName: string): string => {
  const name = Buffer.from(commonName.slice(0, 64), 'utf8');
  const subject = sequence(tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, name))));
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const info = sequence(VERSION_0, subject, spki, NO_ATTRIBUTES);
  const signature = tlv(0x03, Buffer.of(0), sign('sha256', info, key));
  const text = sequence(info, ECDSA_SHA256, signature)
    .toString('base64')
    .replaceAll(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text}\n-----END CERTIFICATE REQUEST-----\n`;
};
