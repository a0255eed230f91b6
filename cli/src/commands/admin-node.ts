import { NODE_STATES, type Node, type Operations } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { nodeId } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { nodeAgentCommands } from './admin-node-agent.ts';
import { convert } from './admin-node-convert.ts';
import { nodeInventoryCommands } from './admin-node-inventory.ts';
import { nodeRetireCommands } from './admin-node-retire.ts';
import { nodeTopologyCommands } from './admin-node-topology.ts';
import { slotList } from './admin-slot.ts';

/** `never` means that the node waits for its first enrollment. */
const agentWord = ({ is_connected, last_seen_at }: Node): string =>
  is_connected ? 'connected' : last_seen_at === null ? 'never' : 'disconnected';

/** A bare-metal node has no slots: it is free as a whole or not at all. */
const freeWord = ({ capacity_mode, occupancy, free_gpus, gpu_count }: Node): string =>
  capacity_mode === 'baremetal' ? (occupancy === 'free' ? 'whole' : 'no') : `${free_gpus}/${gpu_count}`;

/** Nothing can be placed and no reason is known: perhaps no slot is approved. */
const mayLackSlots = ({ state, capacity_mode, occupancy, free_gpus }: Node): boolean =>
  state === 'active' && capacity_mode !== 'baremetal' && occupancy === 'free' && free_gpus === 0;

/** IDs of the listed nodes whose candidates wait for approval. The slot map is read only if there may be one. */
const readUnapproved = async (
  cli: Cli,
  nodes: readonly Node[],
  region_name: string | undefined,
): Promise<ReadonlySet<string>> => {
  const listed = new Set(nodes.filter(mayLackSlots).map(({ id }) => id));
  const found = new Set<string>();
  if (cli.out.json || listed.size === 0) return found;
  const map = (await cli.client()).pages.adminSlotMapList(
    { query: { region_name, limit: 200 } },
    { signal: cli.signal },
  );
  for await (const { node_id, slots } of map) if (slots.length === 0 && listed.has(node_id)) found.add(node_id);
  return found;
};

const gpusWord = ({ gpu_count, gpu_model, vendor_device }: Node['gpus_found'][number]): string =>
  gpu_model === vendor_device ? `${gpu_count} ${gpu_model}` : `${gpu_count} ${gpu_model} (${vendor_device})`;

/** The action that an operator has to take. */
const needs = (
  {
    id,
    has_hardware_change,
    gpu_model_conflict,
    unapproved_disks,
    reboot_required,
    finding_count,
    launch_failures,
  }: Node,
  unapproved: ReadonlySet<string>,
): string =>
  [
    ...(unapproved.has(id) ? ['approval'] : []),
    ...(gpu_model_conflict === null ? [] : ['GPU model']),
    ...(unapproved_disks.some(({ is_wipe_pending }) => !is_wipe_pending) ? ['disk approval'] : []),
    ...(unapproved_disks.some(({ is_wipe_pending }) => is_wipe_pending) ? ['disk wipe'] : []),
    ...(has_hardware_change ? ['review'] : []),
    ...(reboot_required ? ['reboot'] : []),
    ...(finding_count > 0 ? ['reconcile'] : []),
    ...(launch_failures > 0 ? ['launches fail'] : []),
  ].join(', ');

/** Names are unique and every command accepts them, so the ID is the column to drop. */
const columnsOf = (unapproved: ReadonlySet<string>): readonly Column<Node>[] => [
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'AGENT', value: agentWord },
  { header: 'FREE', value: freeWord, align: 'right' },
  { header: 'NEEDS', value: (node) => needs(node, unapproved), shrink: 'cut' },
  { header: 'ID', value: ({ id }) => id, optional: true },
  { header: 'MODE', value: ({ capacity_mode }) => capacity_mode, optional: true },
  { header: 'OCCUPANCY', value: ({ occupancy }) => occupancy, optional: true },
  { header: 'SET', value: ({ largest_set }) => largest_set, align: 'right', optional: true },
  { header: 'HEALTH', value: ({ health }) => health, optional: true },
  { header: 'HELD', value: ({ is_held }) => is_held, optional: true },
  { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
  { header: 'SEEN', value: ({ last_seen_at }) => shortTime(last_seen_at), optional: true },
];

const node = { node: 'Name or ID' } as const;
const reason = required(text('Reason, recorded in the audit log'));

const update = command({
  name: 'update',
  summary: 'Move a node to another pool',
  args: node,
  flags: { pool: required(text('Pool to move it to', 'name')), reason, ...ifMatchFlags },
  examples: ['gpuaas admin node update j22u05 --pool research --reason "Reserved until March"'],
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
    const ifMatch = flags.ifMatch ?? (await client.adminNodeGet({ params }, { signal: cli.signal })).version;
    const body = { pool_name: flags.pool, reason: flags.reason };
    const response = await client.call('adminNodeUpdate', { params, body }, { ifMatch, signal: cli.signal });
    const { name, id, pool_name } = response.data;
    cli.out.done(`Node ${name} (${id}) is in pool ${pool_name}.`, response);
  },
});

/** A command and its opposite are one operation with the desired value. */
const toggleCommand = <Op extends 'adminNodeHold' | 'adminNodeDrain'>(
  operation: Op,
  name: string,
  wanted: Omit<Operations[Op]['request']['body'], 'reason'>,
  summary: string,
  outcome: (node: Node) => string,
) =>
  command({
    name,
    summary,
    args: node,
    flags: { reason, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      const request = { params, body: { ...wanted, reason: flags.reason } } as Operations[Op]['request'];
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const answer = await (await cli.client()).call(operation, request, options);
      cli.out.done(`Node ${answer.data.name} (${answer.data.id}) is ${outcome(answer.data)}.`, answer);
    },
  });

const heldWord = ({ is_held }: Node): string => `${is_held ? '' : 'no longer '}held for bare metal`;

export const adminNode: Group = {
  name: 'node',
  summary: 'Manage nodes',
  commands: [
    command({
      name: 'list',
      summary: 'List nodes with agent, free GPUs and required actions',
      flags: {
        name: text('Only the node with this name', 'name'),
        region: text('Only this region', 'name'),
        state: choice('Only this state', NODE_STATES),
        ...pageFlags,
      },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminNodeList(
            { query: { ...page, name: flags.name, region_name: flags.region, state: flags.state } },
            { signal: cli.signal },
          );
        const page = await collect(flags, read);
        cli.out.list(page, columnsOf(await readUnapproved(cli, page.items, flags.region)));
      },
    }),
    command({
      name: 'get',
      summary: 'Show one node',
      args: node,
      run: async (cli, { args }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const found = await (await cli.client()).adminNodeGet({ params }, { signal: cli.signal });
        const { host, gpus_found, unapproved_disks, ...fields } = found;
        const { state, bound_at, ...identity } = host;
        cli.out.item(found, {
          ...fields,
          gpus_found: gpus_found.map(gpusWord).join(', ') || null,
          unapproved_disks: unapproved_disks.map(({ name, serial }) => serial ?? name).join(', ') || null,
          ...{ host: state, ...identity, host_bound_at: bound_at },
        });
      },
    }),
    { ...slotList, name: 'slots' },
    update,
    toggleCommand(
      'adminNodeHold',
      'hold',
      { is_held: true },
      'Hold a node for bare metal: no slices are placed on it',
      heldWord,
    ),
    command({
      name: 'clear-failures',
      summary: 'Clear failed launches of a node, so that placement resumes',
      args: node,
      flags: { reason, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const request = { params: { node_id: await nodeId(cli, args.node) }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminNodeLaunchFailuresClear', request, options);
        cli.out.done(`Failed launches of node ${answer.data.name} (${answer.data.id}) are cleared.`, answer);
      },
    }),
    toggleCommand('adminNodeHold', 'unhold', { is_held: false }, 'Release a hold', heldWord),
    toggleCommand(
      'adminNodeDrain',
      'drain',
      { is_draining: true },
      'Stop new placements on a node; allocations continue',
      ({ state }) => `${state}; its allocations continue`,
    ),
    toggleCommand('adminNodeDrain', 'resume', { is_draining: false }, 'End a drain', ({ state }) => state),
    convert,
    ...nodeAgentCommands,
    ...nodeTopologyCommands,
    ...nodeInventoryCommands,
    ...nodeRetireCommands,
  ],
};
