import { CAPACITY_MODES, type Operations, TASK_STATES } from '@gpuaas/sdk';
import { choice, command, integer, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { nodeId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { taskText } from '../state-text.ts';
import { type Column, shortTime } from '../table.ts';

type Enrollment = Operations['adminNodeEnrollmentCreate']['response'];
type Task = Operations['adminNodeTaskList']['response']['items'][number];

const node = { node: 'Name or ID' } as const;

const hostFlags = {
  serial: text('Only the host with this serial number can enroll', 'serial'),
  'system-uuid': text('Only the host with this system UUID can enroll', 'uuid'),
  'machine-id': text('Only the host with this machine ID can enroll', 'id'),
} as const;

const namedHost = (
  flags: Readonly<{ serial?: string | undefined; systemUuid?: string | undefined; machineId?: string | undefined }>,
) => {
  const { serial, systemUuid, machineId } = flags;
  if (serial === undefined && systemUuid === undefined && machineId === undefined) return undefined;
  return { product_serial: serial, product_uuid: systemUuid, machine_id: machineId };
};
const reason = required(text('Reason, recorded in the audit log'));

const columns: readonly Column<Task>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'TASK', value: ({ label }) => label },
  {
    header: 'STATE',
    value: ({ state, percent }) => (state === 'running' && percent !== null ? `${percent} %` : state),
  },
  { header: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right', optional: true },
  { header: 'ERROR', value: ({ error_code }) => error_code, optional: true },
  { header: 'KIND', value: ({ kind }) => kind, optional: true },
  { header: 'CREATED', value: ({ created_at }) => shortTime(created_at), optional: true },
  {
    header: 'DETAIL',
    value: ({ state_reason, progress_note }) => state_reason ?? progress_note,
    shrink: 'cut',
    optional: true,
  },
];

const HOST_NAMES = [
  ['product_serial', 'serial number'],
  ['product_uuid', 'system UUID'],
  ['machine_id', 'machine ID'],
] as const;

/** Which host can use the token. */
const describeHost = ({ host }: Enrollment): string => {
  if (host.state === 'unbound') return 'The first host that uses the token is bound to the node.';
  const known = HOST_NAMES.flatMap(([field, name]) => (host[field] === null ? [] : [`${name} ${host[field]}`]));
  return `Only this host can use the token: ${known.join(', ')}.`;
};

/** The token is shown here and never again. */
export const printEnrollment = (cli: Cli, enrollment: Enrollment): void => {
  if (cli.out.json) return;
  const { install_command, token, expires_at } = enrollment;
  cli.out.print(`On the host, as root, before ${shortTime(expires_at)}:`);
  cli.out.print(`  ${install_command}`);
  cli.out.print('Enter this token when asked. It is shown once and works once:');
  cli.out.print(`  ${token}`);
  cli.out.print(describeHost(enrollment));
  cli.out.say('Or put it into a file with mode 0600 and use --token-file FILE. Never pass it as an argument.');
};

export const nodeAgentCommands = [
  command({
    name: 'create',
    summary: 'Register a host and print the command and token that enroll its agent',
    args: { name: 'Name of the host' },
    flags: {
      region: required(text('Region', 'name')),
      'gpu-model': required(text('GPU model, as in the SKU', 'model')),
      gpus: required(integer('Number of GPUs')),
      mode: required(choice('Capacity mode', CAPACITY_MODES)),
      pool: text('Node pool (default shared)', 'name'),
      'private-network': text('Private network of the slices on this host', 'cidr'),
      ...hostFlags,
      ...keyFlags,
    },
    examples: [
      'gpuaas admin node create j22u15 --region us-buffalo-1 --gpu-model "H200 SXM" --gpus 8 --mode slice --serial 4J7XQR3',
    ],
    run: async (cli, { args, flags }) => {
      const body = {
        name: args.name,
        region_name: flags.region,
        gpu_model: flags.gpuModel,
        gpu_count: flags.gpus,
        capacity_mode: flags.mode,
        pool_name: flags.pool,
        private_network: flags.privateNetwork,
        host: namedHost(flags),
      };
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const response = await (await cli.client()).call('adminNodeCreate', { body }, options);
      const { node: made, enrollment } = response.data;
      cli.out.done(`Created node ${made.name} (${made.id}). It is waiting for its agent.`, response);
      printEnrollment(cli, enrollment);
    },
  }),
  command({
    name: 'enroll',
    summary: 'Print a new install command and token; the earlier token stops working',
    args: node,
    flags: { reason, ...hostFlags, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const request = { params, body: { reason: flags.reason, host: namedHost(flags) } };
      const response = await (await cli.client()).call('adminNodeEnrollmentCreate', request, options);
      cli.out.done(`Node ${params.node_id} can be enrolled again.`, response);
      printEnrollment(cli, response.data);
    },
  }),
  command({
    name: 'rebind',
    summary: 'Rebind a node to another host; slots must be discovered, approved and wiped again',
    args: node,
    flags: { reason, ...hostFlags, ...yesFlags, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      await cli.confirm(
        `Rebind node ${args.node} to another host? Its slot approvals, wipe proofs and disk approvals end.`,
        flags.yes,
      );
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const request = { params, body: { reason: flags.reason, host: namedHost(flags) } };
      const response = await (await cli.client()).call('adminNodeRebind', request, options);
      cli.out.done(`Node ${params.node_id} waits for its new host.`, response);
      printEnrollment(cli, response.data);
    },
  }),
  command({
    name: 'agent',
    summary: 'Show the agent of a node and its certificates',
    args: node,
    run: async (cli, { args }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const agent = await (await cli.client()).adminNodeAgentGet({ params }, { signal: cli.signal });
      const { certificates, ...fields } = agent;
      cli.out.item(agent, fields);
      if (cli.out.json || certificates.length === 0) return;
      cli.out.table(certificates, [
        { header: 'CERTIFICATE', value: ({ serial_number }) => serial_number },
        { header: 'UNTIL', value: ({ not_after }) => shortTime(not_after) },
        { header: 'REVOKED', value: ({ revoked_at }) => shortTime(revoked_at) },
        { header: 'REASON', value: ({ revoked_reason }) => revoked_reason, shrink: 'cut' },
      ]);
    },
  }),
  command({
    name: 'revoke',
    summary: 'Revoke the certificates of an agent; allocations continue',
    args: node,
    flags: { reason, ...yesFlags, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      await cli.confirm(
        `Revoke the certificates of the agent of ${args.node}? It stays disconnected until enrolled again.`,
        flags.yes,
      );
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const request = { params, body: { reason: flags.reason } };
      const response = await (await cli.client()).call('adminNodeAgentRevoke', request, options);
      cli.out.done(`The certificates of node ${params.node_id} are revoked.`, response);
    },
  }),
  command({
    name: 'update-agent',
    summary: 'Update the agent to a release',
    args: node,
    flags: {
      release: required(text('Version of the release', 'version')),
      digest: required(text('Digest of the release', 'sha256:hex')),
      ...keyFlags,
    },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const body = { version: flags.release, digest: flags.digest };
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const response = await (await cli.client()).call('adminNodeAgentUpdate', { params, body }, options);
      cli.out.done(
        `Task ${response.data.id} ${taskText(response.data.state)}; see gpuaas admin node tasks ${args.node}.`,
        response,
      );
    },
  }),
  command({
    name: 'tasks',
    summary: 'List tasks of a node, newest first',
    args: node,
    flags: { state: choice('Only this state', TASK_STATES), ...pageFlags },
    run: async (cli, { args, flags }) => {
      const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
      const read = (page: { limit: number; cursor: string | undefined }) =>
        client.adminNodeTaskList({ params, query: { ...page, state: flags.state } }, { signal: cli.signal });
      cli.out.list(await collect(flags, read), columns);
    },
  }),
  command({
    name: 'task',
    summary: 'Show a task of a node with the result of the host',
    args: { ...node, task: 'ID of the task' },
    run: async (cli, { args }) => {
      const params = { node_id: await nodeId(cli, args.node), task_id: args.task };
      const task = await (await cli.client()).adminNodeTaskGet({ params }, { signal: cli.signal });
      cli.out.item(task, {
        ID: task.id,
        Task: task.label,
        Kind: task.kind,
        State: taskText(task.state),
        Attempt: String(task.attempt),
        ...(task.error_code === null ? {} : { Error: task.error_code }),
        ...(task.state_reason === null ? {} : { Reason: task.state_reason }),
        ...(task.progress_note === null ? {} : { Progress: task.progress_note }),
        Allocation: task.allocation_id,
        Requested: shortTime(task.created_at),
        Ended: shortTime(task.finished_at),
        'Correlation ID': task.correlation_id,
      });
      if (cli.out.json) return;
      cli.out.print(task.output === null ? 'The host has returned no result.' : 'Result of the host:');
      if (task.output !== null) cli.out.print(JSON.stringify(task.output, null, 2));
    },
  }),
] as const;
