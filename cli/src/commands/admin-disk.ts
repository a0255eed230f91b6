import type { Operations } from '@gpuaas/sdk';
import { command, type Group, required, text } from '../command.ts';
import { nodeId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

type Disk = Operations['adminNodeDiskList']['response']['items'][number];

const node = { node: 'Name or ID' } as const;
const reason = required(text('Reason, recorded in the audit log'));

const columns: readonly Column<Disk>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'SERIAL', value: ({ serial }) => serial },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'SINCE', value: ({ state_since }) => shortTime(state_since) },
  { header: 'DEVICE', value: ({ device }) => device, shrink: 'cut', optional: true },
  { header: 'APPROVED BY', value: ({ approved_by }) => approved_by, optional: true },
];

export const adminDisk: Group = {
  name: 'disk',
  summary: 'Manage disks that may be wiped or are excluded',
  commands: [
    command({
      name: 'list',
      summary: 'List disks approved for wiping or excluded, and their blockers',
      args: node,
      flags: pageFlags,
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminNodeDiskList({ params, query }, { signal: cli.signal });
        const found = await collect(flags, read);
        cli.out.list(found, columns);
        if (cli.out.json) return;
        for (const { serial, state, state_reason } of found.items)
          if (state === 'blocked' && state_reason !== null) cli.out.say(`disk ${serial} is blocked: ${state_reason}`);
      },
    }),
    command({
      name: 'approve',
      summary: 'Approve a disk for wiping; the agent never unmounts it',
      args: { ...node, serial: 'Serial number of the disk' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        await cli.confirm(`Wipe all data on disk ${args.serial} of ${args.node} once it is free?`, flags.yes);
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const body = { serial: args.serial, reason: flags.reason };
        const response = await (await cli.client()).call('adminNodeDiskApprove', { params, body }, options);
        const { id, serial, state } = response.data;
        cli.out.done(`Disk ${serial} (${id}) is ${state}; see gpuaas admin disk list ${args.node}.`, response);
      },
    }),
    command({
      name: 'exclude',
      summary: 'Exclude a disk from wiping, so that the node can be bare metal',
      args: { ...node, serial: 'Serial number of the disk' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node) };
        const question = `Never wipe disk ${args.serial} of ${args.node}, although bare-metal tenants can write to it?`;
        await cli.confirm(question, flags.yes);
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const body = { serial: args.serial, reason: flags.reason };
        const response = await (await cli.client()).call('adminNodeDiskExclude', { params, body }, options);
        const { id, serial, state } = response.data;
        cli.out.done(`Disk ${serial} (${id}) is ${state}.`, response);
      },
    }),
    command({
      name: 'revoke',
      summary: 'Revoke an approval before the disk is wiped, or end an exclusion',
      args: { ...node, approval: 'ID from disk list' },
      flags: { reason, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { node_id: await nodeId(cli, args.node), disk_ownership_id: args.approval };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const request = { params, body: { reason: flags.reason } };
        const response = await (await cli.client()).call('adminNodeDiskRevoke', request, options);
        cli.out.done(`The decision about disk ${response.data.serial} is ${response.data.state}.`, response);
      },
    }),
  ],
};
