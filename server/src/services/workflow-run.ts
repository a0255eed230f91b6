/**
 * Runs and their timelines. Tenants read those of their project, in plain words; operators read all of them with the
 * detail behind the words, and may retry or cancel.
 */
import { type Permission, type PublicApi, type RequestOf, roleHolds, scopeAllows } from '@gpuaas/contract';
import type { Ctx, ReadCtx, WriteCtx } from '../context.ts';
import type * as db from '../db/workflow-run.ts';
import { findRun, listRuns } from '../db/workflow-run-view.ts';
import { listSteps, type WorkflowStepRow } from '../db/workflow-step.ts';
import { action } from '../domain/refusal.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { cancelRefusal, isLive, retryRefusal } from '../domain/workflow.ts';
import { stepLabel } from '../domain/workflow-steps.ts';
import { AppError, notFound } from '../errors.ts';
import { principalOf, projectOf } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { cancelRun, retryRun } from '../workflows/engine/run.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
type Audience = 'tenant' | 'operator';

const refusal = (ctx: Ctx, audience: Audience, permission: Permission): string | null => {
  if (audience === 'tenant') return REFUSALS.operators_only;
  const principal = principalOf(ctx);
  const role = principal.platform_role;
  const holds = role !== null && roleHolds(`platform:${role}`, permission);
  return holds && scopeAllows(principal.credential.scopes, permission) ? null : `You do not hold ${permission}.`;
};

/** Errors of hosts and libraries name addresses and paths: operators see them, tenants see only the sentence. */
const explain = (audience: Audience, sentence: string | null, detail: string | null): string | null =>
  audience === 'tenant' || detail === null || detail === sentence ? sentence : `${sentence ?? 'Detail:'} (${detail})`;

const runView = (ctx: Ctx, audience: Audience) => (run: db.WorkflowRunRow) => ({
  id: run.id,
  workflow: run.workflow,
  workflow_version: run.workflow_version,
  subject_id: run.subject_id,
  organization_id: run.organization_id,
  project_id: run.project_id,
  step: run.step,
  step_label: stepLabel(run.workflow, run.step),
  state: run.state,
  state_reason: explain(audience, run.state_reason, run.state_detail),
  state_since: run.state_since,
  state_deadline_at: isLive(run.state) ? run.deadline_at : null,
  attempt: run.attempt,
  workers_lost: run.workers_lost,
  wake_at: run.wake_at,
  owner: audience === 'operator' ? run.lease_owner : null,
  correlation_id: run.correlation_id,
  created_at: run.created_at,
  finished_at: run.finished_at,
  actions: [
    action('retry', refusal(ctx, audience, 'admin.workflow_run.retry') ?? retryRefusal(run)?.reason ?? null),
    action(
      'cancel',
      refusal(ctx, audience, 'admin.workflow_run.cancel') ??
        cancelRefusal({ state: run.state, is_cancelling: run.cancel_requested_at !== null })?.reason ??
        null,
    ),
  ],
});

const stepView = (audience: Audience, workflow: string) => (step: WorkflowStepRow) => ({
  sequence: step.sequence,
  step: step.step,
  label: stepLabel(workflow, step.step),
  attempt: step.attempt,
  outcome: step.outcome,
  detail: explain(audience, step.detail, step.internal_detail),
  started_at: step.started_at,
  finished_at: step.finished_at,
  duration_ms: Math.max(0, Date.parse(step.finished_at) - Date.parse(step.started_at)),
});

const findVisible = async (reader: Parameters<typeof findRun>[0], id: string, projectId?: string) => {
  const run = await findRun(reader, id, projectId);
  if (run === undefined) throw notFound('workflow run');
  return run;
};

type ListQuery = Req<'adminWorkflowRunList'>['query'];

const listFor = async (
  ctx: ReadCtx,
  audience: Audience,
  query: ListQuery,
  bounds: Readonly<{ project_id?: string }>,
) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const key = decodeCursor(ctx, query.cursor)?.[0];
  const filter = {
    ...bounds,
    organization_id: query.organization_id,
    subject_id: query.subject_id,
    workflow: query.workflow,
    state: query.state,
    correlation_id: query.correlation_id,
    before_id: key === undefined ? undefined : String(key),
    limit: limit + 1,
  };
  const rows = await ctx.read((reader) => listRuns(reader, filter));
  return pageOf(ctx, limit, rows, (row) => [row.id], runView(ctx, audience));
};

const SEQUENCE_MAX = 2 ** 31 - 1;

const sequenceOf = (key: string | number | undefined): number => {
  if (key === undefined) return 0;
  if (typeof key === 'number' && key >= 0 && key <= SEQUENCE_MAX) return key;
  throw new AppError('invalid_request', REFUSALS.cursor);
};

const stepsFor = async (ctx: ReadCtx, audience: Audience, req: Req<'adminWorkflowRunStepList'>, projectId?: string) => {
  const limit = req.query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = sequenceOf(decodeCursor(ctx, req.query.cursor)?.[0]);
  const [run, rows] = await ctx.read(async (reader) => {
    const run = await findVisible(reader, req.params.workflow_run_id, projectId);
    return [run, await listSteps(reader, run.id, { after, limit: limit + 1 })] as const;
  });
  return pageOf(ctx, limit, rows, (row) => [row.sequence], stepView(audience, run.workflow));
};

export const list = (ctx: ReadCtx, { query }: Req<'workflowRunList'>) =>
  listFor(ctx, 'tenant', query, { project_id: projectOf(ctx) });

export const get = async (ctx: ReadCtx, { params }: Req<'workflowRunGet'>) => {
  const run = await ctx.read((reader) => findVisible(reader, params.workflow_run_id, projectOf(ctx)));
  return runView(ctx, 'tenant')(run);
};

export const stepList = (ctx: ReadCtx, req: Req<'workflowRunStepList'>) => stepsFor(ctx, 'tenant', req, projectOf(ctx));

export const adminList = (ctx: ReadCtx, { query }: Req<'adminWorkflowRunList'>) => listFor(ctx, 'operator', query, {});

export const adminGet = async (ctx: ReadCtx, { params }: Req<'adminWorkflowRunGet'>) => {
  const run = await ctx.read((reader) => findVisible(reader, params.workflow_run_id));
  return runView(ctx, 'operator')(run);
};

export const adminStepList = (ctx: ReadCtx, req: Req<'adminWorkflowRunStepList'>) => stepsFor(ctx, 'operator', req);

/** Operator actions on a tenant's run are in the tenant's own audit chain. */
const changedRun = (ctx: WriteCtx, run: db.WorkflowRunRow) => {
  if (run.organization_id !== null) ctx.setTarget(run.organization_id, run.project_id ?? undefined);
  ctx.note({ workflow_run_id: run.id, workflow: run.workflow, subject_id: run.subject_id, step: run.step });
  return runView(ctx, 'operator')(run);
};

export const adminRetry = async (ctx: WriteCtx, { params, body }: Req<'adminWorkflowRunRetry'>) =>
  changedRun(ctx, await retryRun(ctx.tx, { run_id: params.workflow_run_id, step: body.step }));

export const adminCancel = async (ctx: WriteCtx, { params, body }: Req<'adminWorkflowRunCancel'>) =>
  changedRun(ctx, await cancelRun(ctx.tx, { run_id: params.workflow_run_id, reason: body.reason }));
