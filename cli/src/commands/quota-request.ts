import { QUOTA_REQUEST_STATES, type QuotaRequest } from '@gpuaas/sdk';
import { choice, command, type Group, integer, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { anyOrganizationId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

const gpus = (count: number): string => `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;

const columnsOf = (header: string, value: (row: QuotaRequest) => string): readonly Column<QuotaRequest>[] => [
  { header: 'ID', value: ({ id }) => id },
  { header, value, shrink: 'cut' },
  { header: 'LIMIT', value: ({ current_gpu_limit }) => current_gpu_limit ?? 'none', align: 'right' },
  { header: 'REQUESTED', value: ({ gpu_limit }) => gpu_limit, align: 'right' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'GRANTED', value: ({ granted_gpu_limit }) => granted_gpu_limit, align: 'right', optional: true },
  { header: 'CREATED', value: ({ created_at }) => shortTime(created_at), optional: true },
];

/** The reason of the tenant stays after the decision; both are sentences, so they have a table of their own. */
const printReasons = (cli: Cli, { items }: Readonly<{ items: readonly QuotaRequest[] }>): void => {
  if (cli.out.json || items.length === 0) return;
  cli.out.print('');
  cli.out.table(
    items.flatMap(({ id, reason, decision_reason }) => [
      { id, by: 'tenant', reason },
      ...(decision_reason === null ? [] : [{ id, by: 'operator', reason: decision_reason }]),
    ]),
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'BY', value: ({ by }) => by },
      { header: 'REASON', value: ({ reason }) => reason, shrink: 'wrap' },
    ],
  );
};

const stateFlag = { state: choice('Only requests in this state', QUOTA_REQUEST_STATES) } as const;

export const quotaRequestCommands = [
  command({
    name: 'request',
    summary: 'Request a larger GPU limit; operators decide',
    scope: 'organization',
    flags: {
      gpus: required(integer('The limit that you need in total')),
      reason: required(text('What the GPUs are for')),
      'in-project': text('The limit of this project only', 'id'),
      ...keyFlags,
    },
    examples: ['gpuaas quota request --gpus 64 --reason "Training of the vision model"'],
    run: async (cli, { flags }) => {
      const params = { organization_id: await cli.organization() };
      const project_id = flags.inProject === undefined ? undefined : await cli.project(flags.inProject);
      const body = { gpu_limit: flags.gpus, reason: flags.reason, project_id };
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const response = await (await cli.client()).call('quotaRequestCreate', { params, body }, options);
      cli.out.done(`Requested a limit of ${gpus(flags.gpus)} (${response.data.id}).`, response);
      if (!cli.out.json) cli.out.say('Check the decision: gpuaas quota requests');
    },
  }),
  command({
    name: 'requests',
    summary: 'List requests for larger GPU limits, newest first',
    scope: 'organization',
    flags: { ...stateFlag, ...pageFlags },
    run: async (cli, { flags }) => {
      const [client, organization_id] = [await cli.client(), await cli.organization()];
      const read = (page: { limit: number; cursor: string | undefined }) =>
        client.quotaRequestList(
          { params: { organization_id }, query: { ...page, state: flags.state } },
          { signal: cli.signal },
        );
      const found = await collect(flags, read);
      cli.out.list(
        found,
        columnsOf('PROJECT', ({ project_name }) => project_name ?? 'all'),
      );
      printReasons(cli, found);
    },
  }),
  command({
    name: 'withdraw',
    summary: 'Withdraw an open request',
    scope: 'organization',
    args: { request: 'ID' },
    flags: yesFlags,
    run: async (cli, { args, flags }) => {
      const params = { organization_id: await cli.organization(), quota_request_id: args.request };
      await cli.confirm(`Withdraw quota request ${args.request}?`, flags.yes);
      const response = await (await cli.client()).call('quotaRequestWithdraw', { params }, { signal: cli.signal });
      cli.out.done(`Withdrew ${args.request}.`, response, { id: args.request, withdrawn: true });
    },
  }),
];

export const adminQuotaRequest: Group = {
  name: 'quota-request',
  summary: 'Decide requests of tenants for larger GPU limits',
  commands: [
    command({
      name: 'list',
      summary: 'List requests, newest first',
      flags: {
        ...stateFlag,
        'in-organization': text('Only this organization, by name or ID', 'name'),
        ...pageFlags,
      },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const organization_id =
          flags.inOrganization === undefined ? undefined : await anyOrganizationId(cli, flags.inOrganization);
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminQuotaRequestList(
            { query: { ...page, state: flags.state, organization_id } },
            { signal: cli.signal },
          );
        const found = await collect(flags, read);
        cli.out.list(
          found,
          columnsOf('LIMIT OF', ({ organization_name, project_name }) =>
            project_name === null ? organization_name : `${organization_name}/${project_name}`,
          ),
        );
        printReasons(cli, found);
      },
    }),
    command({
      name: 'approve',
      summary: 'Approve a request and set the limit',
      args: { request: 'ID' },
      flags: {
        gpus: integer('Grant this limit instead of the requested one; needs --reason'),
        reason: text('Reason, shown to the tenant'),
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const params = { quota_request_id: args.request };
        const body = { gpu_limit: flags.gpus, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminQuotaRequestApprove', { params, body }, options);
        const { project_name, organization_name, granted_gpu_limit } = response.data;
        const place = project_name === null ? organization_name : `${organization_name}/${project_name}`;
        cli.out.done(`${place} has a limit of ${gpus(granted_gpu_limit ?? 0)} now.`, response);
      },
    }),
    command({
      name: 'reject',
      summary: 'Reject a request',
      args: { request: 'ID' },
      flags: { reason: required(text('Reason, shown to the tenant')), ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { quota_request_id: args.request };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const client = await cli.client();
        const response = await client.call(
          'adminQuotaRequestReject',
          { params, body: { reason: flags.reason } },
          options,
        );
        cli.out.done(`Rejected ${args.request}. The limit is unchanged.`, response);
      },
    }),
  ],
};
