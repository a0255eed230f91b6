import { LOG_LEVELS, type Operations } from '@gpuaas/sdk';
import { choice, command, duration, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { collect, pageFlags } from '../flags.ts';
import type { Column } from '../table.ts';

type Line = Operations['adminLogList']['response']['items'][number];

/** To the millisecond, because readers of logs look for the order of lines. */
const momentOf = (time: string): string => `${time.slice(5, 10)} ${time.slice(11, 23)}Z`;

const columns: readonly Column<Line>[] = [
  { header: 'TIME', value: ({ logged_at }) => momentOf(logged_at) },
  { header: 'LEVEL', value: ({ level }) => level },
  { header: 'SERVICE', value: ({ service }) => service },
  { header: 'HOST', value: ({ host_name }) => host_name, optional: true },
  { header: 'ERROR', value: ({ error_code }) => error_code, optional: true },
  { header: 'MESSAGE', value: ({ message }) => message, shrink: 'wrap' },
];

export const logs = command({
  name: 'logs',
  summary: 'Show log lines of all processes and agents, by correlation ID or node',
  args: { 'id?': 'A correlation id; --correlation-id names one, too' },
  flags: {
    node: text('Only this node', 'name'),
    level: choice('Minimum level', LOG_LEVELS),
    since: duration('Time to look back, like 30m or 2d (default 1d)'),
    ...pageFlags,
  },
  examples: ['gpuaas logs --correlation-id c-01k9zv3m8q4t6w2x5y7r0s1n3p', 'gpuaas logs --node j22u15 --level warn'],
  run: async (cli, { args, flags }) => {
    // Every command accepts this flag to set its correlation ID; here it also selects the lines.
    const correlation_id = args.id ?? (flags as { correlationId?: string }).correlationId;
    if (correlation_id === undefined && flags.node === undefined)
      throw new UsageError('Specify a correlation ID or a node.', 'For example: gpuaas logs --node j22u15');
    const client = await cli.client();
    const node_id = flags.node === undefined ? undefined : await nodeId(cli, flags.node);
    const since = flags.since === undefined ? undefined : new Date(Date.now() - flags.since).toISOString();
    const read = (page: { limit: number; cursor: string | undefined }) =>
      client.adminLogList(
        { query: { ...page, correlation_id, node_id, level: flags.level, since } },
        { signal: cli.signal },
      );
    cli.out.list(await collect(flags, read), columns);
  },
});
