/**
 * The keys of a process and the database agree here. At its start a process states which versions it was given. It does
 * not start with another key under a known number, nor without a version that seals or still opens values. While it
 * runs, it follows which version seals and says so, and a rotation ends only when every running process has followed.
 * A process that could not follow for a while seals nothing: the version it knows may have been retired meanwhile.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { PlatformKeyKind } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  deleteHolder,
  findPlatformSecret,
  insertPlatformKey,
  insertPlatformSecret,
  listPlatformKeys,
  lockPlatformKeys,
  type PlatformKeyRow,
  putHolder,
} from '../db/platform-key.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import {
  checkValueOf,
  createSecrets,
  type KeyRing,
  type Secrets,
  sealedWithAnotherKey,
} from '../ports/secrets/secrets.ts';

/** Shorter than a process that does not report is still counted as running. */
const FOLLOWED_WITHIN_MS = 30_000;
const REPORT_INTERVAL_MS = 10_000;
const ROOT = 'derivation root';
const ROOT_BYTES = 32;

export type KeyRings = Readonly<{
  secrets: Secrets;
  /** Null in a process that was not given the trust key. */
  trustSecrets: Secrets | null;
  /** Reads which versions seal, and reports this process. */
  follow(): Promise<void>;
  /** This process no longer holds keys. */
  leave(): Promise<void>;
}>;

type Rings = Readonly<Partial<Record<PlatformKeyKind, KeyRing>>>;

const nameOf = (kind: PlatformKeyKind): string => `GPUAAS_${kind.toUpperCase()}_KEY`;

const activeOf = (rows: readonly PlatformKeyRow[], kind: PlatformKeyKind): number => {
  const row = rows.find((one) => one.kind === kind && one.state === 'active');
  invariant(row !== undefined, `a version of the ${kind} key is active`);
  return row.version;
};

/** Records the versions of a ring that are new to the database, and refuses a ring that does not fit it. */
const admitRing = async (tx: Tx, kind: PlatformKeyKind, ring: KeyRing): Promise<void> => {
  const known = await listPlatformKeys(tx, kind);
  for (const row of known) {
    const key = ring.get(row.version);
    if (key !== undefined && !checkValueOf(key).equals(row.check_value))
      throw new Error(
        `Version ${row.version} of ${nameOf(kind)} is another key than the one that this database knows by that number. Restore that key, or use another database.`,
      );
    if (key === undefined && (row.state === 'active' || row.state === 'retiring'))
      throw new Error(
        `${nameOf(kind)} lacks version ${row.version}, which is ${row.state}. Add it; it may be removed when \`gpuaas admin platform-key list\` shows it as retired.`,
      );
  }
  const versions = [...ring.keys()].toSorted((a, b) => a - b);
  for (const version of versions.filter((one) => known.every((row) => row.version !== one))) {
    const key = ring.get(version);
    invariant(key !== undefined, 'the version is of this ring');
    const isFirst = known.length === 0 && version === versions[0];
    await insertPlatformKey(tx, {
      kind,
      version,
      state: isFirst ? 'active' : 'available',
      check_value: checkValueOf(key),
    });
  }
};

/** The first process creates it. */
const openRoot = async (tx: Tx, secrets: Secrets): Promise<Buffer> => {
  const sealed = await findPlatformSecret(tx, ROOT);
  if (sealed === undefined) {
    const root = randomBytes(ROOT_BYTES);
    await insertPlatformSecret(tx, ROOT, secrets.seal(root, SEALED_TO.platform_secret(ROOT)));
    return root;
  }
  try {
    return secrets.openBytes(sealed, SEALED_TO.platform_secret(ROOT));
  } catch (err) {
    throw sealedWithAnotherKey('derivation root', 'platform', err);
  }
};

export const openKeyRings = async (
  options: Readonly<{
    database: Database;
    service: string;
    platform_keys: KeyRing;
    trust_keys: KeyRing | null;
    /** Milliseconds of a monotonic clock. */
    monotonicMs?: () => number;
  }>,
): Promise<KeyRings> => {
  const { database, service, monotonicMs = () => performance.now() } = options;
  const rings: Rings = {
    platform: options.platform_keys,
    ...(options.trust_keys === null ? {} : { trust: options.trust_keys }),
  };
  const kinds = Object.keys(rings) as PlatformKeyKind[];
  const processId = randomUUID();
  const active: Partial<Record<PlatformKeyKind, number>> = {};
  let followedMs = monotonicMs();
  let reportedMs = Number.NEGATIVE_INFINITY;

  const report = async (tx: Tx): Promise<void> => {
    for (const kind of kinds) {
      const versions = [...(rings[kind]?.keys() ?? [])];
      await putHolder(tx, { process_id: processId, kind, service, versions, sealing_version: active[kind] ?? 0 });
    }
  };
  const sealing = (kind: PlatformKeyKind) => (): number => {
    const version = active[kind];
    invariant(version !== undefined, `the ${kind} ring is open`);
    if (monotonicMs() - followedMs > FOLLOWED_WITHIN_MS)
      throw new Error(`The active version of the ${kind} key was not read for ${FOLLOWED_WITHIN_MS / 1000} s.`);
    return version;
  };

  const root = await database.write(PLATFORM, async (tx) => {
    await lockPlatformKeys(tx);
    for (const kind of kinds) {
      await admitRing(tx, kind, rings[kind] ?? new Map());
      active[kind] = activeOf(await listPlatformKeys(tx, kind), kind);
    }
    await report(tx);
    followedMs = monotonicMs();
    return openRoot(tx, createSecrets({ kind: 'platform', keys: options.platform_keys, active: sealing('platform') }));
  });
  reportedMs = followedMs;

  const secretsOf = (kind: PlatformKeyKind, keys: KeyRing): Secrets =>
    createSecrets({ kind, keys, active: sealing(kind), ...(kind === 'platform' ? { root } : {}) });
  return {
    secrets: secretsOf('platform', options.platform_keys),
    trustSecrets: options.trust_keys === null ? null : secretsOf('trust', options.trust_keys),
    follow: async () => {
      const startedMs = monotonicMs();
      const rows = await database.read(PLATFORM, (reader) => listPlatformKeys(reader));
      const changed = kinds.filter((kind) => active[kind] !== activeOf(rows, kind));
      for (const kind of changed) active[kind] = activeOf(rows, kind);
      followedMs = startedMs;
      if (changed.length === 0 && startedMs - reportedMs < REPORT_INTERVAL_MS) return;
      await database.write(PLATFORM, report);
      reportedMs = startedMs;
    },
    leave: () => database.write(PLATFORM, (tx) => deleteHolder(tx, processId)),
  };
};
