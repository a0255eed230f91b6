/**
 * Keys that live outside the database, in versions. `seal` encrypts with the active version (AES-256-GCM) and binds the
 * text to where it is stored, so a sealed value copied to another row does not open. A sealed value starts with the
 * version that sealed it. `derive` gives each purpose a key of its own that outlives rotations; `deriveByVersion` gives
 * it one that changes with them.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { PlatformKeyKind } from '@gpuaas/contract';

/** Version to key. */
export type KeyRing = ReadonlyMap<number, Buffer>;

export type Secrets = Readonly<{
  kind: PlatformKeyKind;
  seal(plain: string | Buffer, boundTo: string): Buffer;
  open(sealed: Buffer, boundTo: string): string;
  openBytes(sealed: Buffer, boundTo: string): Buffer;
  derive(purpose: string, bytes: number): Buffer;
  /** Of every version held, the active one first. */
  deriveByVersion(purpose: string, bytes: number): readonly Buffer[];
}>;

/** For a sealed value that does not open. */
export const sealedWithAnotherKey = (what: string, kind: PlatformKeyKind, cause: unknown): Error =>
  new Error(
    `The ${what} in this database were sealed with another ${kind} key. Restore that key (${kind}.key or GPUAAS_${kind.toUpperCase()}_KEY), or use another database.`,
    { cause },
  );

const VERSION_BYTES = 2;
/** Where the version of a key would be, in front of a value that an earlier build left in the clear. */
export const PLAIN = Buffer.alloc(VERSION_BYTES);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TEXT_AT = VERSION_BYTES + NONCE_BYTES + TAG_BYTES;

const hkdf = (key: Buffer, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `gpuaas/${purpose}`, bytes));

/** Distinguishes two keys without revealing either. */
export const checkValueOf = (key: Buffer): Buffer => hkdf(key, 'check', 16);

export const createSecrets = (
  options: Readonly<{
    kind: PlatformKeyKind;
    keys: KeyRing;
    /** The sealing version. */
    active(): number;
    /** What `derive` derives from; a ring that only seals has none. */
    root?: Buffer;
  }>,
): Secrets => {
  const { kind, keys, root } = options;
  const sealingKeys = new Map([...keys].map(([version, key]) => [version, hkdf(key, 'seal', 32)] as const));
  const sealingKey = (version: number): Buffer => {
    const key = sealingKeys.get(version);
    if (key === undefined) throw new Error(`This process does not hold version ${version} of the ${kind} key.`);
    return key;
  };
  const openBytes: Secrets['openBytes'] = (sealed, boundTo) => {
    const key = sealingKey(sealed.readUInt16BE(0));
    const nonce = sealed.subarray(VERSION_BYTES, VERSION_BYTES + NONCE_BYTES);
    const tag = sealed.subarray(VERSION_BYTES + NONCE_BYTES, TEXT_AT);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(boundTo)).setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(TEXT_AT)), decipher.final()]);
  };
  return {
    kind,
    seal: (plain, boundTo) => {
      const version = options.active();
      const head = Buffer.alloc(VERSION_BYTES + NONCE_BYTES);
      head.writeUInt16BE(version, 0);
      const nonce = randomBytes(NONCE_BYTES);
      nonce.copy(head, VERSION_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealingKey(version), nonce).setAAD(Buffer.from(boundTo));
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([head, cipher.getAuthTag(), text]);
    },
    open: (sealed, boundTo) => openBytes(sealed, boundTo).toString('utf8'),
    openBytes,
    derive: (purpose, bytes) => {
      if (root === undefined) throw new Error(`nothing is derived from the ${kind} key`);
      return hkdf(root, purpose, bytes);
    },
    deriveByVersion: (purpose, bytes) => {
      const active = options.active();
      const first = (version: number): number => (version === active ? 0 : 1);
      return [...keys].toSorted(([a], [b]) => first(a) - first(b) || b - a).map(([, key]) => hkdf(key, purpose, bytes));
    },
  };
};
