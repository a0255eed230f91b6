/**
 * Keys that live outside the database. `seal` encrypts with the control plane key (AES-256-GCM) and binds the text to
 * where it is stored, so a sealed value copied to another row does not open. `derive` gives each purpose its own key.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export type Secrets = Readonly<{
  seal(plain: string, boundTo: string): Buffer;
  open(sealed: Buffer, boundTo: string): string;
  derive(purpose: string, bytes: number): Buffer;
}>;

/** For a sealed value that does not open. */
export const sealedWithAnotherKey = (what: string, cause: unknown): Error =>
  new Error(
    `The ${what} in this database were sealed with another platform key. Restore that key (platform.key or GPUAAS_PLATFORM_KEY), or use another database.`,
    { cause },
  );

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const createSecrets = (key: Buffer): Secrets => {
  if (key.length !== 32) throw new Error('the platform key must be 32 bytes');
  const derive = (purpose: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `gpuaas/${purpose}`, bytes));
  const sealingKey = derive('seal', 32);
  return {
    derive,
    seal: (plain, boundTo) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce).setAAD(Buffer.from(boundTo));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    open: (sealed, boundTo) => {
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', sealingKey, nonce).setAAD(Buffer.from(boundTo)).setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      );
    },
  };
};
