/** Keys of a test without a process. */
import { randomBytes } from 'node:crypto';
import type { PlatformKeyKind } from '@gpuaas/contract';
import { SEALED_TO } from '../src/domain/sealed.ts';
import { createSecrets, type KeyRing, type Secrets } from '../src/ports/secrets/secrets.ts';

/** As every process of `startTestApp` holds them. */
export const TEST_KEYS: Readonly<{ platform_keys: KeyRing; trust_keys: KeyRing }> = {
  platform_keys: new Map([[1, Buffer.alloc(32, 1)]]),
  trust_keys: new Map([[1, Buffer.alloc(32, 2)]]),
};

export const testSecrets = (
  kind: PlatformKeyKind = 'platform',
  keys: KeyRing = new Map([[1, randomBytes(32)]]),
): Secrets => createSecrets({ kind, keys, active: () => Math.max(...keys.keys()), root: randomBytes(32) });

/** Opens what a process of `startTestApp` sealed. */
export const appSecrets = testSecrets('platform', TEST_KEYS.platform_keys);

export const sealUserData = (allocationId: string, text: string): Buffer =>
  appSecrets.seal(text, SEALED_TO.user_data(allocationId));
export const openUserData = (allocationId: string, sealed: Buffer | null): string | null =>
  sealed === null ? null : appSecrets.open(sealed, SEALED_TO.user_data(allocationId));
