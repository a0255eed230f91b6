/**
 * What two years of history cost: the hot reads and writes of a site with 1,000 nodes that has them, against the same site
 * on its first day. The worst of them counts.
 */
import type { ReadCtx } from '../server/src/context.ts';
import { type Database, PLATFORM } from '../server/src/db/client.ts';
import { INVARIANTS, listViolations } from '../server/src/db/invariant.ts';
import { purgeExpired } from '../server/src/reconcilers/purge-expired.ts';
import { list as listAllocations } from '../server/src/services/allocation.ts';
import { adminAuditLogList, auditLogList } from '../server/src/services/audit-log.ts';
import { eventList } from '../server/src/services/event.ts';
import { list as listSlotMap } from '../server/src/services/slot-map.ts';
import { adminGet } from '../server/src/services/trace.ts';
import { fillHistory } from './growth/history.ts';
import { interleave, p50, round } from './pairs.ts';
import { contextFor, PRINCIPAL } from './placement/context.ts';
import { createOnce, type Made } from './placement/create.ts';
import { TENANTS, tenant, withFleet } from './placement/fleet.ts';
import { releaseOnce } from './slurm/release.ts';
import type { Bench } from './types.ts';

const NODES = 1_000;
const DAYS = 730;
const PER_DAY = Number(process.env['GPUAAS_BENCH_ALLOCATIONS_PER_DAY'] ?? 200);
const GPUS = 2;
const PAIRS = 7;
const WRITES = 15;
const READS = 25;
const PAGE = 10;
const LIMIT = 1.3;
/** Of the server's own limit of a statement in production. */
const STATEMENT_MS = 15_000;
const NEAR = 0.2;
/** Each tenant has more than a page of allocations, events and audit rows on either site. */
const FIRST_DAY = TENANTS * (PAGE + 2);

const NOTHING = { body: {}, if_match: undefined, last_event_id: undefined };

type Site = Readonly<{ database: Database; made: Made }>;
/** Milliseconds of the median call. */
type Hot = Readonly<{ name: string; of: (site: Site) => Promise<number> }>;

const readingAs = (database: Database, operation: string, isPlatform: boolean): ReadCtx => {
  const bound = tenant(0);
  const scope = isPlatform ? PLATFORM : { tenant_id: bound.organization_id, principal_id: PRINCIPAL.id };
  return { ...contextFor(database, bound, operation), read: (fn) => database.read(scope, fn) };
};

const read = (name: string, isPlatform: boolean, call: (ctx: ReadCtx, site: Site) => Promise<unknown>): Hot => ({
  name,
  of: (site) => p50(READS, () => call(readingAs(site.database, name, isPlatform), site)),
});

const checkAll = (database: Database): Promise<void> =>
  INVARIANTS.reduce(
    (before, invariant) =>
      before.then(async () => void (await database.read(PLATFORM, (reader) => listViolations(reader, invariant)))),
    Promise.resolve(),
  );

const purge = (database: Database): Promise<void> => purgeExpired({ database, history_days: 90, certificate_years: 7 });

const launchSome = async (database: Database): Promise<Made[]> => {
  const made: Made[] = [];
  for (let n = 0; n < WRITES; n++) made.push(await createOnce(database, GPUS));
  return made;
};

const releaseAll = async (database: Database, all: readonly Made[]): Promise<void> => {
  for (const made of all) await releaseOnce(database, made);
};

/** What is launched is released again: neither site fills up. */
const HOT: readonly Hot[] = [
  {
    name: 'launch',
    of: async ({ database }) => {
      const all: Made[] = [];
      const ms = await p50(WRITES, async () => all.push(await createOnce(database, GPUS)));
      await releaseAll(database, all);
      return ms;
    },
  },
  {
    name: 'release',
    of: async ({ database }) => {
      const all = await launchSome(database);
      return p50(WRITES, async () => {
        await releaseAll(database, all.splice(-1));
      });
    },
  },
  read('allocation list', false, (ctx) =>
    listAllocations(ctx, { ...NOTHING, params: { project_id: tenant(0).project_id }, query: { limit: PAGE } }),
  ),
  read('event list', false, (ctx) =>
    eventList(ctx, { ...NOTHING, params: { project_id: tenant(0).project_id }, query: { limit: PAGE } }),
  ),
  read('trace', true, (ctx, { made }) => adminGet(ctx, { ...NOTHING, params: {}, query: { id: made.id } })),
  read('slot map', true, (ctx) => listSlotMap(ctx, { ...NOTHING, params: {}, query: {} })),
  read('audit list', false, (ctx) =>
    auditLogList(ctx, {
      ...NOTHING,
      params: { organization_id: tenant(0).organization_id },
      query: { limit: PAGE },
    }),
  ),
  read('audit list of the platform', true, (ctx) =>
    adminAuditLogList(ctx, { ...NOTHING, params: {}, query: { limit: PAGE, action: 'allocation.create' } }),
  ),
  { name: 'purge turn', of: ({ database }) => p50(5, () => purge(database)) },
  { name: 'invariants', of: ({ database }) => p50(2, () => checkAll(database)) },
];

const settle = async (database: Database): Promise<Site> => {
  const all: Made[] = [];
  for (let n = 0; n < FIRST_DAY; n++) all.push(await createOnce(database, GPUS));
  await releaseAll(database, all);
  const [made] = all;
  if (made === undefined) throw new Error('the site has allocations');
  return { database, made };
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

type Slowest = { name: string; ms: number };

/** The database, with the slowest of its written statements. */
const timing = (database: Database, slowest: Slowest): Database => ({
  ...database,
  write: (scope, fn) =>
    database.write(scope, (tx) =>
      fn({
        ...tx,
        query: async <R extends object>(text: string, values?: readonly unknown[]) => {
          const startedAt = performance.now();
          const result = await tx.query<R>(text, values);
          const ms = performance.now() - startedAt;
          if (ms > slowest.ms) Object.assign(slowest, { name: text.replaceAll(/\s+/g, ' ').slice(0, 90), ms });
          return result;
        },
      }),
    ),
});

/** The first turns after an upgrade pass all old rows: no statement may come near its limit. */
const slowestPurge = async (database: Database): Promise<Slowest> => {
  const slowest: Slowest = { name: '', ms: 0 };
  for (let last = Number.POSITIVE_INFINITY, turn = 0; turn < 20 && last > 250; turn++)
    last = await timed(() => purge(timing(database, slowest)));
  return slowest;
};

const slowestInvariant = async (database: Database): Promise<Slowest> => {
  let slowest: Slowest = { name: '', ms: 0 };
  for (const invariant of INVARIANTS) {
    const ms = await timed(() => database.read(PLATFORM, (reader) => listViolations(reader, invariant)));
    if (ms > slowest.ms) slowest = { name: invariant.name, ms };
  }
  return slowest;
};

export const growthBench: Bench = {
  name: 'growth',
  run: () =>
    withFleet(NODES, ({ database: empty }) =>
      withFleet(NODES, async ({ database: grown, url }) => {
        const allocations = await fillHistory(url, { nodes: NODES, days: DAYS, per_day: PER_DAY });
        const statement = await slowestPurge(grown);
        const [reference, ours] = [await settle(empty), await settle(grown)];
        const found: { name: string; ratio: number; ours: number; reference: number }[] = [];
        for (const { name, of } of HOT)
          found.push({
            name,
            ...(await interleave(
              () => of(ours),
              () => of(reference),
              PAIRS,
            )),
          });
        const worst = found.reduce((a, b) => (b.ratio > a.ratio ? b : a));
        const invariant = await slowestInvariant(grown);
        const near = [statement, invariant].find(({ ms }) => ms > STATEMENT_MS * NEAR);
        if (near !== undefined)
          process.stderr.write(`near its timeout: ${near.name} takes ${Math.round(near.ms)} ms\n`);
        return {
          name: 'growth',
          ratio: near === undefined ? worst.ratio : STATEMENT_MS,
          goal: `<=${LIMIT}`,
          reference: `the same on the first day: ${found.map((one) => `${one.name} ${round(one.reference)} ms`).join(', ')}`,
          ours:
            `${NODES} nodes after ${DAYS} days and ${allocations} allocations: ` +
            `${found.map((one) => `${one.name} ${round(one.ours)} ms (${one.ratio})`).join(', ')}; worst ${worst.name}; ` +
            `slowest statement of the first purge ${Math.round(statement.ms)} ms, slowest invariant ${invariant.name} ${Math.round(invariant.ms)} ms`,
          pairs: PAIRS,
        };
      }),
    ),
};
