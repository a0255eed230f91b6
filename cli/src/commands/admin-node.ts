import type { Node, Slot } from '@gpuaas/sdk';
import { choice, command, type Group, required, text, toggle } from '../command.ts';
import { nodeId } from '../find.ts';
import { collect, keyFlags, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { nodeAgentCommands } from './admin-node-agent.ts';
import { convert } from './admin-node-convert.ts';

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

const columns: readonly Column<Node>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'MODE', value: ({ capacity_mode }) => capacity_mode },
  { header: 'FREE', value: ({ free_gpus, gpu_count }) => `${free_gpus}/${gpu_count}`, align: 'right' },
  { header: 'OCCUPANCY', value: ({ occupancy }) => occupancy, optional: true },
  { header: 'SET', value: ({ largest_set }) => largest_set, align: 'right', optional: true },
  { header: 'HEALTH', value: ({ health }) => health, optional: true },
  { header: 'HELD', value: ({ is_held }) => is_held, optional: true },
  { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
];

/** A slot that comes back by itself needs no explanation; these do not. */
const NEEDS_HANDS: ReadonlySet<Slot['status']> = new Set(['cleanup_blocked', 'quarantined']);

const node = { node: 'name or id' } as const;
const reason = required(text('why; kept in the audit'));

export const adminNode: Group = {
  name: 'node',
  summary: 'nodes, their slots and what they are kept for',
  commands: [
    command({
      name: 'list',
      summary: 'nodes with mode, occupancy and what is free',
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
    command({
      name: 'slots',
      summary: 'slots of a node with who holds them and when they were wiped',
      args: node,
      flags: pageFlags,
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminNodeSlotList({ params, query }, { signal: cli.signal });
        const found = await collect(flags, read);
        cli.out.list(found, [
          { header: '#', value: ({ slot_index }) => slot_index, align: 'right' },
          { header: 'STATUS', value: ({ status }) => status },
          { header: 'APPROVAL', value: ({ approval }) => approval },
          { header: 'HEALTH', value: ({ health }) => health },
          { header: 'ALLOCATION', value: ({ allocation_id }) => allocation_id },
          { header: 'WIPED', value: ({ wiped_at }) => shortTime(wiped_at), optional: true },
          { header: 'GPU', value: ({ gpu_pci_address }) => gpu_pci_address, optional: true },
          { header: 'MODULE', value: ({ module_id }) => module_id, align: 'right', optional: true },
          { header: 'NUMA', value: ({ numa_node }) => numa_node, align: 'right', optional: true },
        ]);
        if (cli.out.json) return;
        for (const { slot_index, status, status_reason } of found.items)
          if (status_reason !== null && NEEDS_HANDS.has(status))
            cli.out.say(`slot ${slot_index} is ${status}: ${status_reason}`);
      },
    }),
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
  ],
};
