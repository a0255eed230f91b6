/**
 * The stored form of an SSH public key. It is built again from the decoded key, so options, comments and trailing data,
 * which could smuggle in a second line or a forced command, are dropped.
 */
import { createHash } from 'node:crypto';
import { readSshPublicKey } from '@gpuaas/contract';

export type SshPublicKey = Readonly<{ algorithm: string; public_key: string; fingerprint: string }>;

/** The key, or the reason for its refusal. */
export const parseSshPublicKey = (text: string): SshPublicKey | string => {
  const read = readSshPublicKey(text);
  if (read.problem !== null) return read.problem;
  const blob = Buffer.from(read.public_key.slice(read.algorithm.length + 1), 'base64');
  const fingerprint = `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
  return { algorithm: read.algorithm, public_key: `${read.algorithm} ${blob.toString('base64')}`, fingerprint };
};
