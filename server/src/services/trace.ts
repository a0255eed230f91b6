/**
 * Traces one id. The id is a correlation ID, or names a resource whose correlation ids are looked up; everything under
 * them becomes one timeline. A node is different: it lives for years, so only its last day is shown. Tenants are
 * limited to their project in every query, in addition to row-level security. Actions of other users are shown to
 * readers of the audit log; all users see their own actions.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf, type ResponseOf, scopeAllows } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import * as db from '../db/trace.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { capEntries, entriesOf, firstFailureOf, gapsOf, type TraceFacts } from '../domain/trace.ts';
import type { TraceEntry } from '../domain/trace-entry.ts';
import { AppError } from '../errors.ts';
import { callerHolds, organizationOf, principalOf, projectOf } from '../pipeline/caller.ts';

type Trace = ResponseOf<PublicApi['adminTraceGet']>;
type Subject = Trace['subjects'][number];
type Found = Readonly<{ kind: Trace['kind']; correlation_ids: readonly string[]; about: readonly string[] }>;
type Facts = Omit<TraceFacts, 'skews'>;

const CORRELATIONS_MAX = 50;
const ENTRIES_MAX = 1_000;
const RUNS_MAX = 200;
const SUBJECTS_MAX = 100;
const DAY_MS = 24 * 3_600_000;

const ANCHOR_KINDS = [
  'allocation',
  'node',
  'slot',
  'node_task',
  'workflow_run',
  'audit_log',
  'event',
] as const satisfies readonly db.AnchorKind[];

const anchorKindOf = (id: string): db.AnchorKind | undefined =>
  ANCHOR_KINDS.find((kind) => new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-hjkmnp-tv-z]{26}$`).test(id));

const unknown = (): AppError => new AppError('not_found', REFUSALS.no_records);

/** Includes the ids of the runs that the requests acted on: a request that joined or retried a run shows all of it. */
const joined = async (reader: Reader, ids: readonly string[], projectId: string | null): Promise<string[]> => {
  const others = await db.listJoined(reader, ids, projectId, CORRELATIONS_MAX);
  return [...new Set([...others.toReversed(), ...ids])].slice(-CORRELATIONS_MAX);
};

const resolve = async (reader: Reader, id: string, projectId: string | null): Promise<Found> => {
  const kind = anchorKindOf(id);
  if (kind === undefined)
    return { kind: 'correlation', correlation_ids: await joined(reader, [id], projectId), about: [] };
  const anchor = await db.findAnchor(reader, kind, id, projectId);
  if (anchor === undefined) throw unknown();
  const own = anchor.correlation_id === null ? [] : [anchor.correlation_id];
  // A row written once represents its request.
  if (kind === 'audit_log' || kind === 'event')
    return { kind: 'correlation', correlation_ids: await joined(reader, own, projectId), about: [] };
  if (kind === 'node_task') return { kind, correlation_ids: own, about: [] };
  const about = [id, ...(await db.listRelated(reader, id))];
  if (kind === 'node') return { kind, correlation_ids: [], about };
  const correlation_ids = await db.listCorrelations(reader, about, projectId, CORRELATIONS_MAX);
  return { kind, correlation_ids: correlation_ids.toReversed(), about };
};

/** The reader of the trace. */
type Reading = Readonly<{
  /** Null for operators. */
  project_id: string | null;
  /** The actor whose audit rows are shown; null for all. */
  actor_id: string | null;
}>;

const actorFor = (ctx: ReadCtx): string | null => {
  const { id, credential } = principalOf(ctx);
  const mayRead = callerHolds(ctx, 'audit.read', organizationOf(ctx), projectOf(ctx));
  return mayRead && scopeAllows(credential.scopes, 'audit.read') && credential.project_id === null ? null : id;
};

type TraceRows = Readonly<{ facts: Facts; is_partial: boolean }>;

const readRows = async (reader: Reader, found: Found, reading: Reading, nowMs: number): Promise<TraceRows> => {
  const { project_id: projectId, actor_id } = reading;
  const isNode = found.kind === 'node';
  const query: db.TraceQuery = {
    by: isNode ? 'about' : 'correlation',
    values: isNode ? found.about : found.correlation_ids,
    project_id: projectId,
    since_ms: isNode ? nowMs - DAY_MS : null,
    limit: ENTRIES_MAX + 1,
  };
  const isOperator = projectId === null;
  const [audited, runs, events, tasks, logs] = await Promise.all([
    db.listAuditFacts(reader, query),
    db.listRunFacts(reader, { ...query, limit: RUNS_MAX + 1 }),
    db.listEventFacts(reader, query),
    isOperator ? db.listTaskFacts(reader, query) : [],
    isOperator ? db.listLogFacts(reader, query) : [],
  ]);
  const audit = audited.filter((row) => actor_id === null || row.actor_id === actor_id);
  const steps = await db.listStepFacts(
    reader,
    runs.map(({ id }) => id),
    ENTRIES_MAX + 1,
  );
  const isPartial =
    runs.length > RUNS_MAX || [audited, events, tasks, logs, steps].some(({ length }) => length > ENTRIES_MAX);
  return { facts: { audit, runs, steps, tasks, logs, events }, is_partial: isPartial };
};

const KINDS: readonly Subject['kind'][] = ['allocation', 'workflow_run', 'node', 'slot', 'node_task'];
const kindOf = (id: string): Subject['kind'] | undefined =>
  KINDS.find((kind) => id.startsWith(`${ID_PREFIXES[kind]}_`));

/** The requested id first, then by kind. */
const subjectsOf = async (
  reader: Reader,
  asked: string,
  { runs, tasks }: Facts,
  entries: readonly TraceEntry[],
  projectId: string | null,
): Promise<Subject[]> => {
  const named = entries.flatMap(({ subject_id, node_id }) => [subject_id ?? [], node_id ?? []].flat());
  const ids = [...new Set([asked, ...named, ...tasks.map(({ node_id }) => node_id)])].filter(
    (id) => kindOf(id) !== undefined,
  );
  const rows = await db.listSubjects(reader, ids.slice(0, ENTRIES_MAX), projectId);
  const all: Subject[] = [
    ...rows.flatMap(({ id, name, state, project_id }) => {
      const kind = kindOf(id);
      return kind === undefined ? [] : [{ kind, id, name, state, project_id }];
    }),
    ...runs.map(({ id, workflow, state, project_id }) => ({
      kind: 'workflow_run' as const,
      id,
      name: workflow,
      state,
      project_id,
    })),
    ...tasks.map(({ id, kind: name, state }) => ({ kind: 'node_task' as const, id, name, state, project_id: null })),
  ];
  const rank = ({ id, kind }: Subject): number => (id === asked ? -1 : KINDS.indexOf(kind));
  return all.toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1)).slice(0, SUBJECTS_MAX);
};

const newestCorrelations = (entries: readonly TraceEntry[]): string[] =>
  [...new Set(entries.toReversed().flatMap(({ correlation_id }) => correlation_id ?? []))]
    .slice(0, CORRELATIONS_MAX)
    .toReversed();

const follow = (ctx: ReadCtx, id: string, reading: Reading): Promise<Trace> =>
  ctx.read(async (reader) => {
    const { project_id: projectId } = reading;
    const now_ms = ctx.deps.clock.now().getTime();
    const found = await resolve(reader, id, projectId);
    const { facts, is_partial } = await readRows(reader, found, reading, now_ms);
    const audience = projectId === null ? ('operator' as const) : ('tenant' as const);
    const nodes = [...facts.tasks, ...facts.logs].flatMap(({ node_id }) => node_id ?? []);
    const skews = nodes.length === 0 ? [] : await db.listSkews(reader, [...new Set(nodes)]);
    const all = entriesOf({ ...facts, skews }, audience);
    if (all.length === 0 && found.about.length === 0) throw unknown();
    const entries = capEntries(all, ENTRIES_MAX);
    return {
      id,
      kind: found.kind,
      correlation_ids: found.kind === 'node' ? newestCorrelations(entries) : [...found.correlation_ids],
      subjects: await subjectsOf(reader, id, facts, entries, projectId),
      first_failure_key: firstFailureOf(all)?.key ?? null,
      entries,
      is_truncated: is_partial || entries.length < all.length,
      clock_skews: [...skews],
      gaps: gapsOf(facts, { now_ms, logs_since_ms: now_ms - ctx.deps.config.log_days * DAY_MS }),
    };
  });

export const get = (ctx: ReadCtx, { query }: RequestOf<PublicApi['traceGet']>): Promise<Trace> =>
  follow(ctx, query.id, { project_id: projectOf(ctx), actor_id: actorFor(ctx) });

export const adminGet = (ctx: ReadCtx, { query }: RequestOf<PublicApi['adminTraceGet']>): Promise<Trace> =>
  follow(ctx, query.id, { project_id: null, actor_id: null });
