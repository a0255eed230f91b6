import type { ApiResponse, ApiToken } from '@gpuaas/sdk';
import { command, duration, type Group, list, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { tokenId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

export const tokenColumns: readonly Column<ApiToken>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'SCOPES', value: ({ scopes }) => scopes.join(','), shrink: 'cut' },
  {
    header: 'EXPIRES',
    value: ({ expires_at, revoked_at }) => (revoked_at === null ? shortTime(expires_at) : 'revoked'),
  },
  { header: 'LAST USED', value: ({ last_used_at }) => shortTime(last_used_at), optional: true },
  { header: 'PREFIX', value: ({ token_prefix }) => token_prefix, optional: true },
];

/** Short lifetimes by default: a forgotten token expires. */
export const tokenFlags = {
  scope: list('`all`, `read`, a permission or a prefix such as service_account.*; repeatable (default read)', 'scope'),
  'expires-in': duration('Lifetime, like 12h or 90d (default 30d)'),
} as const;

export const tokenBody = (name: string, flags: { scope: string[] | undefined; expiresIn: number | undefined }) => ({
  name,
  scopes: flags.scope ?? ['read'],
  expires_in_s: (flags.expiresIn ?? 30 * 86_400_000) / 1000,
});

export const showCreated = (
  cli: Cli,
  response: ApiResponse<Readonly<{ api_token: ApiToken; token: string }>>,
): void => {
  const { api_token, token: secret } = response.data;
  cli.out.done(`Created token ${api_token.name} (${api_token.id}).`, response);
  if (cli.out.json) return;
  cli.out.print(secret);
  cli.out.say(`The token is shown once: store it now. It expires ${shortTime(api_token.expires_at)}.`);
};

export const showRevoked = (cli: Cli, response: ApiResponse<undefined>, id: string): void =>
  cli.out.done(`Revoked token ${id}. This takes effect within 60 seconds.`, response, { id, revoked: true });

export const token: Group = {
  name: 'token',
  summary: 'Manage your API tokens',
  commands: [
    command({
      name: 'list',
      summary: 'List your tokens',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.apiTokenList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), tokenColumns);
      },
    }),
    command({
      name: 'create',
      summary: 'Create a scoped, expiring token; it is shown once',
      args: { name: 'Name, such as its purpose' },
      flags: {
        ...tokenFlags,
        project: text('Bind it to one project, by name or ID', 'name'),
        org: text('Organization of that project', 'name'),
        ...keyFlags,
      },
      examples: ['gpuaas token create ci --scope read --expires-in 90d'],
      run: async (cli, { args, flags }) => {
        const project_id = flags.project === undefined ? undefined : await cli.project(flags.project);
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call(
          'apiTokenCreate',
          { body: { ...tokenBody(args.name, flags), project_id } },
          options,
        );
        showCreated(cli, response);
      },
    }),
    command({
      name: 'revoke',
      summary: 'Revoke a token',
      args: { token: 'Name or ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const token_id = await tokenId(cli, args.token);
        await cli.confirm(`Revoke token ${args.token}?`, flags.yes);
        const response = await (await cli.client()).call(
          'apiTokenRevoke',
          { params: { token_id } },
          { signal: cli.signal },
        );
        showRevoked(cli, response, token_id);
      },
    }),
  ],
};
