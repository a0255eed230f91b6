/**
 * Bearer secrets: 256 random bits with a prefix that names their kind, so that scanners find leaked ones. They cannot
 * be guessed from a dictionary, so a plain SHA-256 is sufficient and fast.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIXES = {
  personal: 'gpuaas_pat_',
  service_account: 'gpuaas_sat_',
  access: 'gpuaas_at_',
  client_secret: 'gpuaas_cs_',
  invitation: 'gpuaas_inv_',
  web_session: 'gpuaas_ws_',
} as const;

export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export const mintToken = (kind: keyof typeof PREFIXES): Readonly<{ token: string; hash: Buffer; prefix: string }> => {
  const token = PREFIXES[kind] + randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token), prefix: token.slice(0, PREFIXES[kind].length + 4) };
};

export const isPlatformToken = (token: string): boolean => token.startsWith('gpuaas_');

export const hashesEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);
