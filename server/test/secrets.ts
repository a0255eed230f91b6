/** Keys of a test that runs no process. */
import { randomBytes } from 'node:crypto';
import type { PlatformKeyKind } from '@gpuaas/contract';
import { createSecrets, type KeyRing, type Secrets } from '../src/ports/secrets/secrets.ts';

export const testSecrets = (
  kind: PlatformKeyKind = 'platform',
  keys: KeyRing = new Map([[1, randomBytes(32)]]),
): Secrets => createSecrets({ kind, keys, active: () => Math.max(...keys.keys()), root: randomBytes(32) });
