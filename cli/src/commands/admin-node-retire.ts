import { command, required, text } from '../command.ts';
import { nodeId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';

const node = { node: 'Name or ID' } as const;

/** Removing a host: it is retired first and then deleted. */
export const nodeRetireCommands = [
  command({
    name: 'retire',
    summary: 'Retire a drained node without allocations, permanently',
    args: node,
    flags: { reason: required(text('Reason, recorded in the audit log')), ...yesFlags, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      await cli.confirm(`Retire ${args.node} permanently? It can return only as a new node.`, flags.yes);
      const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
      const request = { params, body: { reason: flags.reason } };
      const response = await (await cli.client()).call('adminNodeRetire', request, options);
      const { name, id, state } = response.data;
      cli.out.done(`Node ${name} (${id}) is ${state}; delete it to free its name.`, response);
    },
  }),
  command({
    name: 'delete',
    summary: 'Delete a retired node and free its name',
    args: node,
    flags: yesFlags,
    run: async (cli, { args, flags }) => {
      const params = { node_id: await nodeId(cli, args.node) };
      await cli.confirm(`Delete node ${args.node}? Its history is kept.`, flags.yes);
      const response = await (await cli.client()).call('adminNodeDelete', { params }, { signal: cli.signal });
      cli.out.done(`Deleted node ${params.node_id}.`, response, { id: params.node_id, deleted: true });
    },
  }),
] as const;
