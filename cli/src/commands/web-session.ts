import type { WebSession } from '@gpuaas/sdk';
import { command, type Group } from '../command.ts';
import { collect, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

const columns: readonly Column<WebSession>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'FROM', value: ({ source_ip }) => source_ip ?? '' },
  { header: 'LAST USED', value: ({ last_seen_at }) => shortTime(last_seen_at) },
  { header: 'BROWSER', value: ({ user_agent }) => user_agent ?? '', shrink: 'cut' },
  { header: 'ENDS', value: ({ expires_at }) => shortTime(expires_at), optional: true },
  { header: 'SIGNED IN', value: ({ created_at }) => shortTime(created_at), optional: true },
];

export const webSession: Group = {
  name: 'web-session',
  summary: 'Manage your browser sessions',
  commands: [
    command({
      name: 'list',
      summary: 'Manage your browser sessions',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.webSessionList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'revoke',
      summary: 'Sign out a browser session',
      args: { session: 'ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const web_session_id = args.session;
        await cli.confirm(`Sign out browser session ${web_session_id}?`, flags.yes);
        const response = await (await cli.client()).call(
          'webSessionRevoke',
          { params: { web_session_id } },
          { signal: cli.signal },
        );
        cli.out.done(
          `Signed out browser session ${web_session_id}. Its open connections close within seconds.`,
          response,
          {
            id: web_session_id,
            revoked: true,
          },
        );
      },
    }),
  ],
};
