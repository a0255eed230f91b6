/**
 * Reads the facts that the checks of the site judge. All are read at once, each within its own limit: a dependency that
 * hangs makes its fact unknown and delays no other. Only addresses of this process's configuration are contacted.
 */
import { X509Certificate } from 'node:crypto';
import type { ReadCtx } from '../context.ts';
import { sealLag } from '../db/audit-seal.ts';
import { archiveLag } from '../db/audit-segment.ts';
import { findNewestBackup } from '../db/backup.ts';
import type { Reader } from '../db/client.ts';
import { readMigrations } from '../db/migration-file.ts';
import { outboxLag } from '../db/outbox.ts';
import { listHolders, listPlatformKeys } from '../db/platform-key.ts';
import { countHeldNodes, findNewestRestore } from '../db/restore.ts';
import * as db from '../db/site-fact.ts';
import { judgeSite, siteState } from '../domain/doctor.ts';
import type { Fact, FactName, GatheredFacts, SiteFacts } from '../domain/doctor-facts.ts';
import { reachIssuer } from '../ports/identity/issuer-reach.ts';
import { reachHttp, reachNats, reachTls } from '../ports/network/reach.ts';
import { VERSION } from '../version.ts';

/** A connection is given up first, so that its check has the reason. */
const REACH_LIMIT_MS = 3_000;
const FACT_LIMIT_MS = 4_000;

const GATEWAY = 'gpuaas-terminal-gateway';

export const within = async <T>(read: () => Promise<T>, limitMs: number): Promise<Fact<T>> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Fact<T>>((resolve) => {
    timer = setTimeout(() => resolve({ unknown: `it did not respond within ${limitMs / 1000} s.` }), limitMs);
  });
  const answered = read().then(
    (value): Fact<T> => ({ value }),
    (err: unknown): Fact<T> => ({ unknown: err instanceof Error ? err.message : String(err) }),
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Until when a certificate of PEM text is valid; null where it is none. */
const endOf = (pem: string | null): string | null => {
  try {
    return pem === null ? null : new Date(new X509Certificate(pem).validTo).toISOString();
  } catch {
    return null;
  }
};

const gatewayFact = async (ctx: ReadCtx): Promise<SiteFacts['gateway']> => {
  const { public_url } = ctx.deps.config.gateway;
  const [holders, answered] = await ctx.read((reader) =>
    Promise.all([listHolders(reader), db.findAnsweredListener(reader)]),
  );
  const is_running = holders.some(({ service }) => service.split(',').includes(GATEWAY));
  const reached = is_running
    ? await reachHttp(public_url, REACH_LIMIT_MS)
    : ({ ok: false, reason: 'no gateway runs' } as const);
  const ends_at = endOf(answered?.certificate_pem ?? null);
  const certificate =
    answered === undefined
      ? null
      : ends_at === null
        ? { refusal: answered.refusal ?? 'the certificate is not readable' }
        : { names: answered.names, ends_at };
  return { is_running, public_url, certificate, reached };
};

const publicTls = async (publicUrl: string): Promise<SiteFacts['public_tls']> => {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (protocol !== 'https:') return { url: publicUrl, reached: null };
  const address = { host: hostname, ...(port === '' ? {} : { port: Number(port) }) };
  return { url: publicUrl, reached: await reachTls(address, REACH_LIMIT_MS) };
};

const wildcardTls = async (name: string | null): Promise<SiteFacts['wildcard_tls']> =>
  name === null ? null : { name, reached: await reachTls({ host: name.replace('*', 'gpuaas-check') }, REACH_LIMIT_MS) };

/** The middle of the request is the time at which the database is expected to have read its clock. */
const clockFact = async (ctx: ReadCtx): Promise<SiteFacts['clock']> => {
  const nowMs = (): number => ctx.deps.clock.now().getTime();
  const started = nowMs();
  const time = await ctx.read(db.queryDatabaseTime);
  const ended = nowMs();
  return { ahead_ms: Date.parse(time) - (started + ended) / 2, round_trip_ms: ended - started };
};

type Readers = { readonly [K in FactName]: () => Promise<SiteFacts[K]> };

const readersOf = (ctx: ReadCtx): Readers => {
  const { config } = ctx.deps;
  const read = <T>(query: (reader: Reader) => Promise<T>) => ctx.read(query);
  return {
    database: async () => ({ ...(await read(db.findDatabaseFacts)), is_production: config.mode === 'production' }),
    schema: async () => ({
      expected: (await readMigrations()).map(({ name }) => name),
      applied: await read(db.listAppliedMigrations),
    }),
    writable: () => read(db.findWritableFacts),
    standbys: () => read(db.findStandbyFacts),
    clock: () => clockFact(ctx),
    issuer: async () => {
      const { issuer, audience, console_client_id, cli_client_id, other_client_ids } = config.oidc;
      return {
        url: issuer ?? `${config.public_url}/oidc`,
        is_embedded: issuer === null,
        clients: [console_client_id, cli_client_id, ...other_client_ids],
        audience,
        reached: issuer === null ? null : await reachIssuer(issuer, REACH_LIMIT_MS),
      };
    },
    platform_keys: () =>
      read(async (reader) => ({ keys: await listPlatformKeys(reader), holders: await listHolders(reader) })),
    trust_keys: async () => {
      const keys = await read(db.listTrustKeyFacts);
      return { keys, ca_ends_at: endOf(keys.find(({ ca_pem }) => ca_pem !== null)?.ca_pem ?? null) };
    },
    named_hosts: async () => ({
      is_required: config.requires_named_host,
      is_production: config.mode === 'production',
    }),
    gateway: () => gatewayFact(ctx),
    public_tls: () => publicTls(config.public_url),
    wildcard_tls: () => wildcardTls(config.site.wildcard_tls_name),
    nats: async () => (config.nats_url === null ? null : reachNats(config.nats_url, REACH_LIMIT_MS)),
    processes: async () => ({
      services: (await read(listHolders)).filter(({ kind }) => kind === 'platform').map(({ service }) => service),
      needs_relay: config.nats_url !== null,
    }),
    agents: async () => ({ server_version: VERSION, agents: await read(db.listAgentFacts) }),
    gpu_models: () => read(db.findGpuModelFacts),
    images: () => read(db.findImageFacts),
    outbox: () => read(outboxLag),
    sealer: () => read(sealLag),
    audit_archive: async () =>
      config.audit_archive_dir === null
        ? null
        : {
            lag_s: await read((reader) => archiveLag(reader, config.audit_online_days)),
            online_days: config.audit_online_days,
          },
    restore: () =>
      read(async (reader) => {
        const [restore, held_nodes] = await Promise.all([findNewestRestore(reader), countHeldNodes(reader)]);
        return { newest: restore ?? null, held_nodes };
      }),
    backup: async () => ({
      newest: (await read(findNewestBackup)) ?? null,
      max_age_h: config.site.backup_max_age_h,
    }),
  };
};

/** Every fact, in the time of the slowest. */
export const gather = async (readers: Readers, limitMs: number): Promise<GatheredFacts> =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(readers).map(async ([name, read]) => [name, await within<unknown>(read, limitMs)] as const),
    ),
  ) as GatheredFacts;

export const get = async (ctx: ReadCtx) => {
  const now = ctx.deps.clock.now();
  const started = performance.now();
  const checks = judgeSite(await gather(readersOf(ctx), FACT_LIMIT_MS), now);
  return {
    state: siteState(checks),
    checked_at: now.toISOString(),
    duration_ms: Math.round(performance.now() - started),
    server_version: VERSION,
    checks,
  };
};
