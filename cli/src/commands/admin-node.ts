import type { Node } from '@gpuaas/sdk';
import { choice, command, type Group, required, text, toggle } from '../command.ts';
import { nodeId } from '../find.ts';
import { collect, keyFlags, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { nodeAgentCommands } from './admin-node-agent.ts';
import { convert } from './admin-node-convert.ts';
import { nodeEndCommands } from './admin-node-end.ts';
import { nodeInventoryCommands } from './admin-node-inventory.ts';
import { nodeTopologyCommands } from './admin-node-topology.ts';
import { slotList } from './admin-slot.ts';

const NODE_STATES = [
  'bootstrap_issued',
  'enrolling',
  'active',
  'offline',
  'quarantined',
  'draining',
  'retired',
  'removing',
  'deleted',
] as const satisfies readonly Node['state'][];

/** `never` waits for its first enrolment; `lost` was there and is not. */
const agentWord = ({ is_connected, last_seen_at }: Node): string =>
  is_connected ? 'here' : last_seen_at === null ? 'never' : 'lost';

/** A bare-metal node has no slots: it is free as a whole or not at all. */
const freeWord = ({ capacity_mode, occupancy, free_gpus, gpu_count }: Node): string =>
  capacity_mode === 'baremetal' ? (occupancy === 'free' ? 'whole' : 'no') : `${free_gpus}/${gpu_count}`;

/** What somebody has to do about it. */
const needs = ({ has_hardware_change, reboot_required, finding_count }: Node): string =>
  [
    ...(has_hardware_change ? ['review'] : []),
    ...(reboot_required ? ['reboot'] : []),
    ...(finding_count > 0 ? ['reconcile'] : []),
  ].join(', ');

/** A name is unique and every command takes it, so the id gives way where something has to be said. */
const columns: readonly Column<Node>[] = [
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'AGENT', value: agentWord },
  { header: 'FREE', value: freeWord, align: 'right' },
  { header: 'NEEDS', value: needs, shrink: 'cut' },
  { header: 'ID', value: ({ id }) => id, optional: true },
  { header: 'MODE', value: ({ capacity_mode }) => capacity_mode, optional: true },
  { header: 'OCCUPANCY', value: ({ occupancy }) => occupancy, optional: true },
  { header: 'SET', value: ({ largest_set }) => largest_set, align: 'right', optional: true },
  { header: 'HEALTH', value: ({ health }) => health, optional: true },
  { header: 'HELD', value: ({ is_held }) => is_held, optional: true },
  { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
  { header: 'SEEN', value: ({ last_seen_at }) => shortTime(last_seen_at), optional: true },
];

const node = { node: 'name or id' } as const;
const reason = required(text('why; kept in the audit'));

export const adminNode: Group = {
  name: 'node',
  summary: 'nodes, their slots and what they are kept for',
  commands: [
    command({
      name: 'list',
      summary: 'nodes: whether their agent is there, what is free, what they need',
      flags: {
        name: text('only the node of this name', 'name'),
        region: text('only this region', 'name'),
        state: choice('only this state', NODE_STATES),
        ...pageFlags,
      },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminNodeList(
            { query: { ...page, name: flags.name, region_name: flags.region, state: flags.state } },
            { signal: cli.signal },
          );
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'get',
      summary: 'one node',
      args: node,
      run: async (cli, { args }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        cli.out.item(await (await cli.client()).adminNodeGet({ params }, { signal: cli.signal }));
      },
    }),
    { ...slotList, name: 'slots' },
    command({
      name: 'hold',
      summary: 'keep a node for bare metal, or let it go with --off',
      args: node,
      flags: { off: toggle('let it go'), reason, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const body = { is_held: flags.off !== true, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminNodeHold', { params, body }, options);
        const { name, id, is_held } = answer.data;
        cli.out.done(`Node ${name} (${id}) is ${is_held ? '' : 'no longer '}kept for bare metal.`, answer);
      },
    }),
    command({
      name: 'drain',
      summary: 'stop placing on a node, or take it back into use with --off',
      args: node,
      flags: { off: toggle('take it back into use'), reason, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const body = { is_draining: flags.off !== true, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminNodeDrain', { params, body }, options);
        const { name, id, state } = answer.data;
        cli.out.done(`Node ${name} (${id}) is ${state}${flags.off ? '' : '; what runs on it is untouched'}.`, answer);
      },
    }),
    convert,
    ...nodeAgentCommands,
    ...nodeTopologyCommands,
    ...nodeInventoryCommands,
    ...nodeEndCommands,
  ],
};
