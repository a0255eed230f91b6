/** The commands about members, shared by organizations and projects: listing and removing. */

import type { ApiResponse } from '@gpuaas/sdk';
import { command } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, pageFlags, yesFlags } from '../flags.ts';

type Member = Readonly<{ user_id: string; name: string; email: string | null; role: string }>;
type Page = { items: Member[]; next_cursor: string | null };

/** The organization or project of the members. */
type Members = Readonly<{
  scope: 'organization' | 'project';
  /** As in "Remove a member from …". */
  from: string;
  id(cli: Cli): Promise<string>;
  read(cli: Cli, id: string, query: { limit: number; cursor: string | undefined }): Promise<Page>;
  userId(cli: Cli, id: string, named: string): Promise<string>;
  remove(cli: Cli, id: string, user_id: string): Promise<ApiResponse<undefined>>;
}>;

export const memberArgs = { user: 'Email address or ID' } as const;

export const memberList = ({ scope, id, read }: Members) =>
  command({
    name: 'list',
    summary: 'List members and their roles',
    scope,
    flags: pageFlags,
    run: async (cli, { flags }) => {
      const of = await id(cli);
      cli.out.list(await collect(flags, (query) => read(cli, of, query)), [
        { header: 'USER', value: ({ user_id }) => user_id },
        { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
        { header: 'EMAIL', value: ({ email }) => email, shrink: 'cut' },
        { header: 'ROLE', value: ({ role }) => role },
      ]);
    },
  });

export const memberRemove = ({ scope, from, id, userId, remove }: Members) =>
  command({
    name: 'remove',
    summary: `Remove a member from ${from}`,
    scope,
    args: memberArgs,
    flags: yesFlags,
    run: async (cli, { args, flags }) => {
      const of = await id(cli);
      const user_id = await userId(cli, of, args.user);
      await cli.confirm(`Remove ${args.user} from ${from}?`, flags.yes);
      const response = await remove(cli, of, user_id);
      cli.out.done(`Removed ${user_id}. This takes effect within 60 seconds.`, response, { user_id, removed: true });
    },
  });

export type { Members };
