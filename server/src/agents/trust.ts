/**
 * The signing keys of the control plane, opened for use. Every process that issues certificates or signs tasks caches
 * the trusted keys and checks once a second for changes. A new key is staged first: agents trust it while the old one
 * still signs, so no agent sees a signature by an unknown key. An agent that was offline knows only the earlier CA. The
 * listener therefore keeps using a certificate of the oldest trusted CA, so such an agent can reconnect and fetch the
 * new bundle. The first process that needs a key creates it, under a lock.
 */
import { createHash, type KeyObject } from 'node:crypto';
import type { TrustBundle } from '@gpuaas/contract/node';
import { type Clock, invariant, mintId } from '@gpuaas/kit';
import { type Database, PLATFORM, type Reader, type Tx } from '../db/client.ts';
import {
  findActiveKeyId,
  insertTrustKey,
  listTrusted,
  lockTrust,
  type TrustKeySecret,
  type TrustPurpose,
} from '../db/trust-key.ts';
import { type Secrets, sealedWithAnotherKey } from '../ports/secrets/secrets.ts';
import { createCa, createSigner, type Issuer, openIssuer, openSigner } from '../ports/trust/x509.ts';

export type TrustDeps = Readonly<{ database: Database; secrets: Secrets; clock: Clock }>;

export type Trust = Readonly<{
  bundle: TrustBundle;
  ca: Readonly<{ id: string; issuer: Issuer }>;
  /** The CA of the listener's certificate: the oldest trusted one, which every agent knows. */
  listener_ca: Readonly<{ id: string; issuer: Issuer }>;
  signer: Readonly<{ id: string; key: KeyObject }>;
  /** CAs whose certificates are accepted. */
  ca_ids: ReadonlySet<string>;
}>;

const PURPOSES: readonly TrustPurpose[] = ['node_ca', 'task_signer', 'certificate_signer'];

const boundTo = (id: string): string => `trust_keys/${id}`;

/** Creates a key and stores it sealed. */
export const insertFreshKey = async (
  tx: Tx,
  { secrets, clock }: Pick<TrustDeps, 'secrets' | 'clock'>,
  purpose: TrustPurpose,
  state: 'staged' | 'active',
): Promise<string> => {
  const id = mintId('tky');
  const { public_pem, private_pem, fingerprint_sha256 } =
    purpose === 'node_ca' ? await createCa(`GPUaaS node CA ${id}`, clock.now()) : await createSigner();
  const sealed_private_key = secrets.seal(private_pem, boundTo(id));
  await insertTrustKey(tx, { id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key });
  return id;
};

/** Ensures an active key of each purpose. */
export const ensureTrustKeys = async (tx: Tx, deps: Pick<TrustDeps, 'secrets' | 'clock'>): Promise<void> => {
  const findMissing = async (): Promise<TrustPurpose[]> => {
    const active = await Promise.all(PURPOSES.map((purpose) => findActiveKeyId(tx, purpose)));
    return PURPOSES.filter((_, index) => active[index] === undefined);
  };
  if ((await findMissing()).length === 0) return;
  await lockTrust(tx);
  for (const purpose of await findMissing()) await insertFreshKey(tx, deps, purpose, 'active');
};

/** The bundle that agents trust. */
export const bundleOf = (keys: readonly TrustKeySecret[]): TrustBundle => {
  const activeFirst = (a: TrustKeySecret, b: TrustKeySecret) =>
    Number(b.state === 'active') - Number(a.state === 'active');
  const of = (purpose: TrustPurpose) => keys.filter((key) => key.purpose === purpose).toSorted(activeFirst);
  const content = {
    ca_bundle_pem: of('node_ca')
      .map((key) => key.public_pem)
      .join(''),
    task_signers: of('task_signer').map((key) => ({
      signer_id: key.id,
      public_key_pem: key.public_pem,
      state: key.state,
    })),
  };
  const version = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
  return { version, ...content };
};

const openKey = (secrets: Secrets, key: TrustKeySecret): string => {
  try {
    return secrets.open(key.sealed_private_key, boundTo(key.id));
  } catch (err) {
    throw sealedWithAnotherKey('trust keys', err);
  }
};

const openTrust = async (secrets: Secrets, keys: readonly TrustKeySecret[], bundle: TrustBundle): Promise<Trust> => {
  const active = (purpose: TrustPurpose): TrustKeySecret => {
    const key = keys.find((one) => one.purpose === purpose && one.state === 'active');
    invariant(key !== undefined, `there is an active ${purpose}`);
    return key;
  };
  const open = async (key: TrustKeySecret) => ({
    id: key.id,
    issuer: await openIssuer(key.public_pem, openKey(secrets, key)),
  });
  const ca = active('node_ca');
  const shown = keys.find((key) => key.purpose === 'node_ca' && key.state === 'grace') ?? ca;
  const signer = active('task_signer');
  return {
    bundle,
    ca: await open(ca),
    listener_ca: await open(shown),
    signer: { id: signer.id, key: openSigner(openKey(secrets, signer)) },
    ca_ids: new Set(keys.flatMap((key) => (key.purpose === 'node_ca' ? [key.id] : []))),
  };
};

/** Reads the keys once, without the cache. */
export const readTrust = async (reader: Reader, secrets: Secrets): Promise<Trust> => {
  const keys = await listTrusted(reader);
  return openTrust(secrets, keys, bundleOf(keys));
};

/** Undefined until a process has created the key. */
export const findCertificateSigner = async (
  reader: Reader,
  secrets: Secrets,
): Promise<Readonly<{ id: string; key: KeyObject }> | undefined> => {
  const key = (await listTrusted(reader)).find((one) => one.purpose === 'certificate_signer' && one.state === 'active');
  return key === undefined ? undefined : { id: key.id, key: openSigner(openKey(secrets, key)) };
};

export type TrustCache = Readonly<{
  current(): Trust;
  /** Reads the keys again. */
  refresh(): Promise<void>;
}>;

export const createTrustCache = async ({ database, secrets, clock }: TrustDeps): Promise<TrustCache> => {
  await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock }));
  let trust = await database.read(PLATFORM, (reader) => readTrust(reader, secrets));
  return {
    current: () => trust,
    refresh: async () => {
      const keys = await database.read(PLATFORM, listTrusted);
      const bundle = bundleOf(keys);
      // The version covers key states, so it also changes with the active signer.
      const active = keys.find((key) => key.purpose === 'node_ca' && key.state === 'active');
      if (bundle.version === trust.bundle.version && active?.id === trust.ca.id) return;
      trust = await openTrust(secrets, keys, bundle);
    },
  };
};
