import { STEP_OUTCOME_LABELS, WORKFLOW_STATES, type WorkflowRun, type WorkflowStep } from '@gpuaas/sdk';
import { choice, command, type Group, text } from '../command.ts';
import { collect, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

export const runColumns: readonly Column<WorkflowRun>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'WORKFLOW', value: ({ workflow }) => workflow, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'STEP', value: ({ step_label }) => step_label, shrink: 'cut' },
  { header: 'SINCE', value: ({ state_since }) => shortTime(state_since), optional: true },
  { header: 'REASON', value: ({ state_reason }) => state_reason, shrink: 'wrap', optional: true },
];

export const stepColumns: readonly Column<WorkflowStep>[] = [
  { header: '#', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'STEP', value: ({ label }) => label, shrink: 'cut' },
  { header: 'TRY', value: ({ attempt }) => attempt, align: 'right' },
  { header: 'OUTCOME', value: ({ outcome }) => STEP_OUTCOME_LABELS[outcome] },
  { header: 'MS', value: ({ duration_ms }) => duration_ms, align: 'right' },
  { header: 'DETAIL', value: ({ detail }) => detail, shrink: 'wrap' },
  // For `retry --step`.
  { header: 'NAME', value: ({ step }) => step, optional: true },
];

export const runFilters = {
  subject: text('Only runs with this subject ID', 'id'),
  workflow: text('Only this workflow', 'name'),
  state: choice('Only this state', WORKFLOW_STATES),
  'by-correlation-id': text('Only runs of this correlation id', 'id'),
} as const;

type Filters = {
  subject: string | undefined;
  workflow: string | undefined;
  state: WorkflowRun['state'] | undefined;
  byCorrelationId: string | undefined;
};
export const runQuery = (flags: Filters) => ({
  subject_id: flags.subject,
  workflow: flags.workflow,
  state: flags.state,
  correlation_id: flags.byCorrelationId,
});

export const workflowRun: Group = {
  name: 'workflow-run',
  summary: 'Show workflow runs of a project',
  commands: [
    command({
      name: 'list',
      summary: 'List runs of the project, newest first',
      scope: 'project',
      flags: { ...runFilters, ...pageFlags },
      run: async (cli, { flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.workflowRunList(
            { params: { project_id }, query: { ...page, ...runQuery(flags) } },
            { signal: cli.signal },
          );
        cli.out.list(await collect(flags, read), runColumns);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one run',
      scope: 'project',
      args: { run: 'ID' },
      run: async (cli, { args }) => {
        const params = { project_id: await cli.project(), workflow_run_id: args.run };
        cli.out.item(await (await cli.client()).workflowRunGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'steps',
      summary: 'Show the timeline of a run, oldest first',
      scope: 'project',
      args: { run: 'ID' },
      flags: pageFlags,
      run: async (cli, { args, flags }) => {
        const client = await cli.client();
        const params = { project_id: await cli.project(), workflow_run_id: args.run };
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.workflowRunStepList({ params, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), stepColumns);
      },
    }),
  ],
};
