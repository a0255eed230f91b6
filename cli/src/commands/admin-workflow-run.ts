import { type ApiResponse, ENDED_WORKFLOW_STATES, type WorkflowRun } from '@gpuaas/sdk';
import { command, type Group, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { collect, keyFlags, pageFlags, waitFlags, yesFlags } from '../flags.ts';
import { waitWithProgress } from '../progress.ts';
import { runText } from '../state-text.ts';
import { runColumns, runFilters, runQuery, stepColumns } from './workflow-run.ts';

const ENDED: ReadonlySet<WorkflowRun['state']> = new Set(ENDED_WORKFLOW_STATES);
const WAIT_MS = 600_000;

const describe = (run: WorkflowRun): string =>
  `${run.id} ${runText(run.state)}${run.state === 'done' ? '' : ` at step "${run.step_label}"`}${run.state_reason === null ? '' : `: ${run.state_reason}`}`;

/** Waits for the end if requested; an end state other than the wanted ones is a failure with the reason of the run. */
const finish = async (
  cli: Cli,
  response: ApiResponse<WorkflowRun>,
  flags: { wait: boolean | undefined; timeout: number | undefined },
  options: { sentence: string; wanted: readonly WorkflowRun['state'][] },
): Promise<void> => {
  if (!flags.wait) return cli.out.done(options.sentence, response);
  const { id } = response.data;
  const client = await cli.client();
  cli.out.say(`${options.sentence} correlation id ${response.correlation_id ?? 'unknown'}`);
  const run = await waitWithProgress(
    cli.io,
    () => client.adminWorkflowRunGet({ params: { workflow_run_id: id } }, { signal: cli.signal }),
    {
      until: ({ state }) => ENDED.has(state),
      timeoutMs: flags.timeout ?? WAIT_MS,
      signal: cli.signal,
      describe,
      resume: `gpuaas admin workflow-run get ${id}`,
    },
  );
  const isWanted = options.wanted.includes(run.state);
  if (cli.out.json) cli.out.done('', { ...response, data: run });
  else if (isWanted) cli.out.print(describe(run));
  if (!isWanted)
    throw new CliError(
      'failure',
      describe(run).replace(/\.?$/, '.'),
      `Timeline: gpuaas admin workflow-run steps ${id}`,
    );
};

const runId = { run: 'ID' } as const;

export const adminWorkflowRun: Group = {
  name: 'workflow-run',
  summary: 'Manage workflow runs',
  commands: [
    command({
      name: 'list',
      summary: 'List runs, newest first',
      flags: { 'in-organization': text('Only this organization', 'id'), ...runFilters, ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminWorkflowRunList(
            { query: { ...page, ...runQuery(flags), organization_id: flags.inOrganization } },
            { signal: cli.signal },
          );
        cli.out.list(await collect(flags, read), runColumns);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one run',
      args: runId,
      run: async (cli, { args }) => {
        const params = { workflow_run_id: args.run };
        cli.out.item(await (await cli.client()).adminWorkflowRunGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'steps',
      summary: 'Show the timeline of a run, oldest first',
      args: runId,
      flags: pageFlags,
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), { workflow_run_id: args.run }];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminWorkflowRunStepList({ params, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), stepColumns);
      },
    }),
    command({
      name: 'retry',
      summary: 'Retry a stuck run from a step',
      args: runId,
      flags: { step: text('Step to continue from (default: the step that failed)', 'step'), ...waitFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), { workflow_run_id: args.run }];
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await client.call('adminWorkflowRunRetry', { params, body: { step: flags.step } }, options);
        await finish(cli, response, flags, {
          sentence: `Retrying ${response.data.id} from step "${response.data.step_label}".`,
          wanted: ['done'],
        });
      },
    }),
    command({
      name: 'cancel',
      summary: 'Cancel a run at its next step boundary',
      args: runId,
      flags: { reason: text('Reason, shown in the timeline'), ...waitFlags, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        await cli.confirm(`Cancel run ${args.run}?`, flags.yes);
        const [client, params] = [await cli.client(), { workflow_run_id: args.run }];
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await client.call(
          'adminWorkflowRunCancel',
          { params, body: { reason: flags.reason } },
          options,
        );
        await finish(cli, response, flags, {
          sentence: `Cancelling ${response.data.id}.`,
          wanted: ['cancelled', 'done'],
        });
      },
    }),
  ],
};
