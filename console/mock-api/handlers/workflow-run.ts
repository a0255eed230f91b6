import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { action } from '../../../server/src/domain/refusal.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { cancelRefusal, retryRefusal } from '../../../server/src/domain/workflow.ts';
import { stepLabel } from '../../../server/src/domain/workflow-steps.ts';
import { type MockCtx, must, projectOf, type Req } from '../core/context.ts';
import { conflict, refuse } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import type { Run } from '../core/rows.ts';
import { resumeCleanup } from '../simulation/allocation.ts';
import { cancelRun, retryRun } from '../simulation/run.ts';

type View = ResponseOf<PublicApi['adminWorkflowRunGet']>;

const view =
  (isOperator: boolean) =>
  (run: Run): View => {
    const { path: _, step_started_at: __, node_id: ___, steps: ____, task_id: _____, turn: ______, ...row } = run;
    const forOperators = isOperator ? null : REFUSALS.operators_only;
    return {
      ...row,
      step_label: stepLabel(run.workflow, run.step),
      owner: isOperator ? row.owner : null,
      actions: [
        action('retry', forOperators ?? retryRefusal(run)?.reason ?? null),
        action('cancel', forOperators ?? cancelRefusal({ ...run, is_cancelling: false })?.reason ?? null),
      ],
    };
  };

const matches = (query: Req<'workflowRunList'>['query']) => (run: Run) =>
  (query.subject_id === undefined || run.subject_id === query.subject_id) &&
  (query.workflow === undefined || run.workflow === query.workflow) &&
  (query.state === undefined || run.state === query.state) &&
  (query.correlation_id === undefined || run.correlation_id === query.correlation_id);

const ofProject = (ctx: MockCtx, id: string): Run => {
  const run = ctx.world.runs.get(id);
  return must(run?.project_id === projectOf(ctx) ? run : undefined, 'workflow run');
};
const any = (ctx: MockCtx, id: string): Run => must(ctx.world.runs.get(id), 'workflow run');

const steps = (ctx: MockCtx, run: Run, query: Req<'workflowRunStepList'>['query']) =>
  pageOf(ctx, query, run.steps, (step) => String(step.sequence), asIs);

export const workflowRun = {
  workflowRunList: async (ctx: MockCtx, { query }: Req<'workflowRunList'>) => {
    const rows = [...ctx.world.runs.values()].filter((run) => run.project_id === projectOf(ctx));
    return pageOf(ctx, query, newestFirst(rows.filter(matches(query))), idOf, view(false));
  },
  workflowRunGet: async (ctx: MockCtx, { params }: Req<'workflowRunGet'>) =>
    view(false)(ofProject(ctx, params.workflow_run_id)),
  workflowRunStepList: async (ctx: MockCtx, { params, query }: Req<'workflowRunStepList'>) =>
    steps(ctx, ofProject(ctx, params.workflow_run_id), query),
  adminWorkflowRunList: async (ctx: MockCtx, { query }: Req<'adminWorkflowRunList'>) => {
    const rows = [...ctx.world.runs.values()]
      .filter((run) => query.organization_id === undefined || run.organization_id === query.organization_id)
      .filter(matches(query));
    return pageOf(ctx, query, newestFirst(rows), idOf, view(true));
  },
  adminWorkflowRunGet: async (ctx: MockCtx, { params }: Req<'adminWorkflowRunGet'>) =>
    view(true)(any(ctx, params.workflow_run_id)),
  adminWorkflowRunStepList: async (ctx: MockCtx, { params, query }: Req<'adminWorkflowRunStepList'>) =>
    steps(ctx, any(ctx, params.workflow_run_id), query),
  adminWorkflowRunRetry: async (ctx: MockCtx, { params, body }: Req<'adminWorkflowRunRetry'>) => {
    const { world } = ctx;
    const run = any(ctx, params.workflow_run_id);
    refuse(retryRefusal(run));
    ctx.note({ workflow_run_id: run.id });
    const step = body.step ?? run.step;
    const steps = run.path.map((one) => one.step);
    if (!steps.includes(step)) throw conflict(REFUSALS.run_without_step(run.workflow, step, steps));
    const row = world.allocations.get(run.subject_id);
    retryRun(world, run, step);
    if (row !== undefined && run.workflow === 'release-allocation') resumeCleanup(world, row, run);
    return view(true)(run);
  },
  adminWorkflowRunCancel: async (ctx: MockCtx, { params, body }: Req<'adminWorkflowRunCancel'>) => {
    const run = any(ctx, params.workflow_run_id);
    refuse(cancelRefusal({ ...run, is_cancelling: false }));
    ctx.note({ workflow_run_id: run.id });
    cancelRun(ctx.world, run, body.reason ?? REASONS.cancel_requested);
    return view(true)(run);
  },
};
