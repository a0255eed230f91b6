/**
 * The signing keys of the control plane. A new key is staged first: agents trust it while the old one still signs, so no
 * agent sees a signature by an unknown key. An agent that was offline knows only the earlier CA. The listeners therefore
 * keep using a certificate of the oldest trusted CA, so such an agent can reconnect and fetch the new bundle.
 *
 * Only a process that holds the trust key can open the CA of hosts and the signer of tasks, and only it creates them:
 * the API asks for a key, and this process makes it. It trusts a key of the database only if its private half opens, so
 * a row that another process wrote is never given to agents to trust. A process without the trust key
 * reads the public halves. Both check once a second for changes.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { TrustBundle } from '@gpuaas/contract/node';
import { type Clock, invariant, type Log, mintId } from '@gpuaas/kit';
import { type Database, PLATFORM, type Reader, type Tx } from '../db/client.ts';
import {
  findActiveKeyId,
  insertTrustKey,
  listRequestedKeys,
  listTrusted,
  lockTrust,
  purposesOf,
  type TrustKeySecret,
  type TrustPurpose,
} from '../db/trust-key.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { type Secrets, sealedWithAnotherKey } from '../ports/secrets/secrets.ts';
import { createCa, createSigner, type Issuer, openIssuer, openSigner } from '../ports/trust/x509.ts';

type SealDeps = Readonly<{ secrets: Secrets; clock: Clock }>;
export type TrustDeps = SealDeps & Readonly<{ database: Database; log: Log }>;

/** What is known without any key. */
export type PublicTrust = Readonly<{
  bundle: TrustBundle;
  /** The CA of the listeners' certificates: the oldest trusted one, which every agent knows. */
  listener_ca_id: string;
  /** CAs whose certificates are accepted. */
  ca_ids: ReadonlySet<string>;
}>;

export type Trust = PublicTrust &
  Readonly<{
    ca: Readonly<{ id: string; issuer: Issuer }>;
    listener_ca: Readonly<{ id: string; issuer: Issuer }>;
    signer: Readonly<{ id: string; key: KeyObject }>;
  }>;

/** Creates a key and stores it sealed. */
export const insertFreshKey = async (
  tx: Tx,
  { secrets, clock }: SealDeps,
  key: Readonly<{ id?: string; purpose: TrustPurpose; state: 'staged' | 'active' }>,
): Promise<string> => {
  const { id = mintId('tky'), purpose, state } = key;
  const { public_pem, private_pem, fingerprint_sha256 } =
    purpose === 'node_ca' ? await createCa(`GPUaaS node CA ${id}`, clock.now()) : await createSigner();
  const sealed_private_key = secrets.seal(private_pem, SEALED_TO.trust_key(id));
  await insertTrustKey(tx, { id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key });
  return id;
};

/** Ensures an active key of each purpose that these secrets seal, and creates the keys that were requested. */
export const ensureTrustKeys = async (tx: Tx, deps: SealDeps): Promise<void> => {
  const purposes = purposesOf(deps.secrets.kind);
  const findWork = async () => {
    const [requested, ...active] = await Promise.all([
      listRequestedKeys(tx, purposes),
      ...purposes.map((purpose) => findActiveKeyId(tx, purpose)),
    ]);
    return { requested, missing: purposes.filter((_, index) => active[index] === undefined) };
  };
  const seen = await findWork();
  if (seen.requested.length === 0 && seen.missing.length === 0) return;
  await lockTrust(tx);
  const { requested, missing } = await findWork();
  for (const purpose of missing) await insertFreshKey(tx, deps, { purpose, state: 'active' });
  for (const { id, purpose } of requested) await insertFreshKey(tx, deps, { id, purpose, state: 'staged' });
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
    return secrets.open(key.sealed_private_key, SEALED_TO.trust_key(key.id));
  } catch (err) {
    throw sealedWithAnotherKey('trust keys', secrets.kind, err);
  }
};

/** Whether the private half opens and is the half of what the row publishes. */
const isOurs = (secrets: Secrets, key: TrustKeySecret): boolean => {
  try {
    const published =
      key.purpose === 'node_ca' ? new X509Certificate(key.public_pem).publicKey : createPublicKey(key.public_pem);
    return createPublicKey(createPrivateKey(openKey(secrets, key))).equals(published);
  } catch {
    return false;
  }
};

const publicTrustOf = (keys: readonly TrustKeySecret[]): PublicTrust | undefined => {
  const cas = keys.filter((key) => key.purpose === 'node_ca');
  const shown = cas.find((key) => key.state === 'grace') ?? cas.find((key) => key.state === 'active');
  if (shown === undefined) return undefined;
  return { bundle: bundleOf(keys), listener_ca_id: shown.id, ca_ids: new Set(cas.map((key) => key.id)) };
};

const openTrust = async (secrets: Secrets, keys: readonly TrustKeySecret[]): Promise<Trust> => {
  const known = publicTrustOf(keys);
  invariant(known !== undefined, 'there is an active node_ca');
  const find = (isIt: (key: TrustKeySecret) => boolean): TrustKeySecret => {
    const key = keys.find(isIt);
    invariant(key !== undefined, 'there is an active key of each purpose');
    return key;
  };
  const open = async (key: TrustKeySecret) => ({
    id: key.id,
    issuer: await openIssuer(key.public_pem, openKey(secrets, key)),
  });
  const signer = find((key) => key.purpose === 'task_signer' && key.state === 'active');
  return {
    ...known,
    ca: await open(find((key) => key.purpose === 'node_ca' && key.state === 'active')),
    listener_ca: await open(find((key) => key.id === known.listener_ca_id)),
    signer: { id: signer.id, key: openSigner(openKey(secrets, signer)) },
  };
};

/** The trusted keys that these secrets sealed. The active ones must be among them, or the key of this process is wrong. */
const listOurs = (secrets: Secrets, keys: readonly TrustKeySecret[], log: Log): TrustKeySecret[] => {
  const mine = purposesOf(secrets.kind);
  return keys.filter((key) => {
    if (!mine.includes(key.purpose)) return false;
    if (isOurs(secrets, key)) return true;
    if (key.state === 'active') openKey(secrets, key);
    log.error({ trust_key_id: key.id, purpose: key.purpose }, 'a trust key does not open; it is not given to agents');
    return false;
  });
};

/** Reads the keys once, without the cache. */
export const readTrust = async (reader: Reader, secrets: Secrets, log: Log): Promise<Trust> =>
  openTrust(secrets, listOurs(secrets, await listTrusted(reader), log));

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

/** Detects changes: id and state of every key. */
const stateOf = (keys: readonly TrustKeySecret[]): string => keys.map(({ id, state }) => `${id} ${state}`).join(',');

export const createTrustCache = async ({ database, secrets, clock, log }: TrustDeps): Promise<TrustCache> => {
  await database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets, clock }));
  let trust = await database.read(PLATFORM, (reader) => readTrust(reader, secrets, log));
  let seen = '';
  return {
    current: () => trust,
    refresh: async () => {
      const keys = await database.read(PLATFORM, listTrusted);
      if (stateOf(keys) === seen) return;
      trust = await openTrust(secrets, listOurs(secrets, keys, log));
      seen = stateOf(keys);
    },
  };
};

/** For a process without the trust key. */
export const createPublicTrust = (
  database: Database,
): Readonly<{ current(): PublicTrust | undefined; refresh(): Promise<void> }> => {
  let trust: PublicTrust | undefined;
  return {
    current: () => trust,
    refresh: async () => {
      trust = publicTrustOf(await database.read(PLATFORM, listTrusted));
    },
  };
};
