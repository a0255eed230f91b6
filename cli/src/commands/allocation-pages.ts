/** A command that lists resources of one allocation. */
import type { Client } from '@gpuaas/sdk';
import { command } from '../command.ts';
import { allocationParams } from '../find.ts';
import { collect, pageFlags } from '../flags.ts';
import type { Column } from '../table.ts';

type PageQuery = {
  params: { project_id: string; allocation_id: string };
  query: { limit: number; cursor: string | undefined };
};
type Page<T> = { items: T[]; next_cursor: string | null };

export const named = { allocation: 'Name or ID' } as const;

export const listCommand = <T>({
  columns,
  read,
  ...shown
}: Readonly<{
  name: string;
  summary: string;
  columns: readonly Column<T>[];
  read(client: Client, asked: PageQuery, options: { signal: AbortSignal }): Promise<Page<T>>;
}>) =>
  command({
    ...shown,
    scope: 'project',
    args: named,
    flags: pageFlags,
    run: async (cli, { args, flags }) => {
      const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
      cli.out.list(await collect(flags, (query) => read(client, { params, query }, { signal: cli.signal })), columns);
    },
  });
