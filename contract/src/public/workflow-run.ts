import Type from 'typebox';
import { Action, Closed, DisplayText, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const WORKFLOW_STATES = ['pending', 'running', 'waiting', 'done', 'stuck', 'cancelled'] as const;
/** A worker still picks up the run. */
export const LIVE_WORKFLOW_STATES = [
  'pending',
  'running',
  'waiting',
] as const satisfies readonly (typeof WORKFLOW_STATES)[number][];
/** No worker picks it up. An operator may retry a run that is `stuck`. */
export const ENDED_WORKFLOW_STATES = [
  'done',
  'stuck',
  'cancelled',
] as const satisfies readonly (typeof WORKFLOW_STATES)[number][];

/** How a step ended, in words for people. */
export const STEP_OUTCOME_LABELS = {
  next: 'done',
  wait: 'waited',
  done: 'completed',
  failed: 'failed',
  stuck: 'stopped',
  error: 'failed',
  timeout: 'timed out',
  cancelled: 'cancelled',
  retried: 'retried by an operator',
} as const;
export type StepOutcome = keyof typeof STEP_OUTCOME_LABELS;
export const STEP_OUTCOMES = Object.keys(STEP_OUTCOME_LABELS) as readonly StepOutcome[];
export const FAILED_STEP_OUTCOMES = ['failed', 'stuck', 'error', 'timeout'] as const satisfies readonly StepOutcome[];

export const WorkflowRun = Closed({
  id: Id('workflow_run'),
  workflow: Type.String(),
  workflow_version: Type.Integer(),
  subject_id: Type.String({ description: 'Subject of the run.' }),
  organization_id: Nullable(Type.String()),
  project_id: Nullable(Type.String()),
  step: Type.String({ description: 'The current or last step.' }),
  step_label: Type.String({ description: 'Label of that step.', examples: ['Copy image'] }),
  state: StringEnum(WORKFLOW_STATES),
  state_reason: Nullable(Type.String()),
  state_since: Time('When this state began.'),
  state_deadline_at: Nullable(Time('Deadline of the run.')),
  attempt: Type.Integer(),
  workers_lost: Type.Integer({
    description:
      'How often in a row the worker stopped while it ran this step. A run with a loss is executed alone, after a growing pause; it becomes `stuck` after 4 losses during which other runs went on, or after 25.',
  }),
  wake_at: Nullable(Time('When it continues automatically.')),
  owner: Nullable(Type.String({ description: 'The worker that holds it now.' })),
  correlation_id: Type.String(),
  created_at: Time('When it started.'),
  finished_at: Nullable(Time('When it ended.')),
  actions: Type.Array(Action),
});

export const WorkflowStep = Closed({
  sequence: Type.Integer(),
  step: Type.String(),
  label: Type.String({ description: 'Label of the step.', examples: ['Copy image'] }),
  attempt: Type.Integer(),
  outcome: StringEnum(STEP_OUTCOMES),
  detail: Nullable(Type.String()),
  started_at: Time('When it started.'),
  finished_at: Time('When it ended.'),
  duration_ms: Type.Integer(),
});

const filters = {
  subject_id: Type.Optional(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_.-]+$' })),
  workflow: Type.Optional(Type.String({ maxLength: 64, pattern: '^[a-z0-9-]+$' })),
  state: Type.Optional(StringEnum(WORKFLOW_STATES)),
  correlation_id: Type.Optional(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9._-]+$' })),
};

const read = { method: 'GET', tag: 'Workflows', audit: null, idempotency: 'none', status: 200 } as const;
const ofProject = Closed({ project_id: Id('project') });
const runOfProject = Closed({ project_id: Id('project'), workflow_run_id: Id('workflow_run') });
const run = Closed({ workflow_run_id: Id('workflow_run') });
const page = Closed({ ...PageQuery });

export const workflowRunApi = define({
  workflowRunList: {
    ...read,
    path: '/api/v1/projects/{project_id}/workflow-runs',
    summary: 'List workflow runs of the project, newest first',
    access: 'project',
    permission: 'workflow_run.read',
    params: ofProject,
    query: Closed({ ...PageQuery, ...filters }),
    response: Page(WorkflowRun),
  },
  workflowRunGet: {
    ...read,
    path: '/api/v1/projects/{project_id}/workflow-runs/{workflow_run_id}',
    summary: 'Get a workflow run',
    access: 'project',
    permission: 'workflow_run.read',
    params: runOfProject,
    response: WorkflowRun,
  },
  workflowRunStepList: {
    ...read,
    path: '/api/v1/projects/{project_id}/workflow-runs/{workflow_run_id}/steps',
    summary: 'Get the timeline of a workflow run, oldest first',
    access: 'project',
    permission: 'workflow_run.read',
    params: runOfProject,
    query: page,
    response: Page(WorkflowStep),
  },
  adminWorkflowRunList: {
    ...read,
    path: '/api/v1/admin/workflow-runs',
    summary: 'List workflow runs of the whole platform, newest first',
    access: 'platform',
    permission: 'admin.workflow_run.read',
    query: Closed({ ...PageQuery, ...filters, organization_id: Type.Optional(Id('organization')) }),
    response: Page(WorkflowRun),
  },
  adminWorkflowRunGet: {
    ...read,
    path: '/api/v1/admin/workflow-runs/{workflow_run_id}',
    summary: 'Get a workflow run',
    access: 'platform',
    permission: 'admin.workflow_run.read',
    params: run,
    response: WorkflowRun,
  },
  adminWorkflowRunStepList: {
    ...read,
    path: '/api/v1/admin/workflow-runs/{workflow_run_id}/steps',
    summary: 'Get the timeline of a workflow run, oldest first',
    access: 'platform',
    permission: 'admin.workflow_run.read',
    params: run,
    query: page,
    response: Page(WorkflowStep),
  },
  adminWorkflowRunRetry: {
    method: 'POST',
    path: '/api/v1/admin/workflow-runs/{workflow_run_id}/retry',
    tag: 'Workflows',
    summary: 'Retry a stuck workflow run from a step',
    access: 'platform',
    permission: 'admin.workflow_run.retry',
    audit: 'workflow_run.retry',
    freshSignIn: true,
    idempotency: 'required',
    params: run,
    body: Closed({
      step: Type.Optional(
        Type.String({
          maxLength: 64,
          pattern: '^[A-Za-z0-9]+$',
          description: 'Step to continue from (default: the stuck step).',
        }),
      ),
    }),
    status: 202,
    response: WorkflowRun,
    location: '/api/v1/admin/workflow-runs/{workflow_run_id}',
    errors: ['conflict'],
  },
  adminWorkflowRunCancel: {
    method: 'POST',
    path: '/api/v1/admin/workflow-runs/{workflow_run_id}/cancel',
    tag: 'Workflows',
    summary: 'Cancel a workflow run before its next step',
    access: 'platform',
    permission: 'admin.workflow_run.cancel',
    audit: 'workflow_run.cancel',
    freshSignIn: true,
    idempotency: 'required',
    params: run,
    body: Closed({
      reason: Type.Optional(DisplayText('Reason, shown in the timeline.', 240)),
    }),
    status: 202,
    response: WorkflowRun,
    location: '/api/v1/admin/workflow-runs/{workflow_run_id}',
    errors: ['conflict'],
  },
});
