import { SERVICE_ACCOUNT_STATES, type ServiceAccount } from '@gpuaas/sdk';
import { choice, command, duration, type Group, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { serviceAccountId } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { showCreated, showRevoked, tokenBody, tokenColumns, tokenFlags } from './token.ts';

const columns: readonly Column<ServiceAccount>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'LAST USED', value: ({ last_used_at }) => shortTime(last_used_at) },
  { header: 'DESCRIPTION', value: ({ description }) => description, shrink: 'wrap', optional: true },
];

const account = { account: 'Name or ID' } as const;

const paramsOf = async (cli: Cli, named: string) => {
  const project_id = await cli.project();
  return { project_id, service_account_id: await serviceAccountId(cli, project_id, named) };
};

const token: Group = {
  name: 'token',
  summary: 'Manage tokens of a service account',
  commands: [
    command({
      name: 'list',
      summary: 'List tokens of a service account',
      scope: 'project',
      args: account,
      flags: pageFlags,
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), await paramsOf(cli, args.account)];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.serviceAccountTokenList({ params, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), tokenColumns);
      },
    }),
    command({
      name: 'create',
      summary: 'Create a token for a service account; it is shown once',
      scope: 'project',
      args: { ...account, name: 'Name, such as its purpose' },
      flags: { ...tokenFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const [client, params] = [await cli.client(), await paramsOf(cli, args.account)];
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await client.call(
          'serviceAccountTokenCreate',
          { params, body: tokenBody(args.name, flags) },
          options,
        );
        showCreated(cli, response);
      },
    }),
    command({
      name: 'revoke',
      summary: 'Revoke a token of a service account',
      scope: 'project',
      args: { ...account, token: 'ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const params = { ...(await paramsOf(cli, args.account)), token_id: args.token };
        await cli.confirm(`Revoke token ${args.token}?`, flags.yes);
        const response = await (await cli.client()).call(
          'serviceAccountTokenRevoke',
          { params },
          { signal: cli.signal },
        );
        showRevoked(cli, response, args.token);
      },
    }),
  ],
};

export const serviceAccount: Group = {
  name: 'service-account',
  summary: 'Manage service accounts for programs',
  commands: [
    command({
      name: 'list',
      summary: 'List service accounts of the project',
      scope: 'project',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.serviceAccountList({ params: { project_id }, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one service account',
      scope: 'project',
      args: account,
      run: async (cli, { args }) => {
        const params = await paramsOf(cli, args.account);
        cli.out.item(await (await cli.client()).serviceAccountGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create a service account; its client secret is shown once',
      scope: 'project',
      args: { name: 'Lower-case name, unique in the project' },
      flags: { description: text('Description'), ...keyFlags },
      run: async (cli, { args, flags }) => {
        const params = { project_id: await cli.project() };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const body = { name: args.name, description: flags.description };
        const response = await (await cli.client()).call('serviceAccountCreate', { params, body }, options);
        const { service_account, client_secret } = response.data;
        cli.out.done(`Created service account ${service_account.name} (${service_account.id}).`, response);
        if (cli.out.json) return;
        cli.out.print(client_secret);
        cli.out.say(`The client secret is shown once: store it now. The client ID is ${service_account.id}.`);
      },
    }),
    command({
      name: 'update',
      summary: 'Enable, disable or describe a service account',
      scope: 'project',
      args: account,
      flags: {
        state: choice('Enabled or disabled', SERVICE_ACCOUNT_STATES),
        description: text('Description'),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        if (flags.state === undefined && flags.description === undefined)
          throw new UsageError('Nothing to change.', 'Add --state or --description.');
        const [client, params] = [await cli.client(), await paramsOf(cli, args.account)];
        const ifMatch = flags.ifMatch ?? (await client.serviceAccountGet({ params }, { signal: cli.signal })).version;
        const body = { state: flags.state, description: flags.description };
        const response = await client.call('serviceAccountUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(
          `Service account ${response.data.name} (${response.data.id}) is ${response.data.state}.`,
          response,
        );
      },
    }),
    command({
      name: 'delete',
      summary: 'Delete a service account and revoke its tokens',
      scope: 'project',
      args: account,
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const params = await paramsOf(cli, args.account);
        await cli.confirm(`Delete service account ${args.account} and revoke its tokens?`, flags.yes);
        const response = await (await cli.client()).call('serviceAccountDelete', { params }, { signal: cli.signal });
        const id = params.service_account_id;
        cli.out.done(`Deleted service account ${id}.`, response, { id, deleted: true });
      },
    }),
    command({
      name: 'rotate',
      summary: 'Rotate the client secret; the new one is shown once',
      scope: 'project',
      args: account,
      flags: {
        overlap: duration('Time the old secret stays valid, like 1h (default 0)'),
        ...yesFlags,
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const params = await paramsOf(cli, args.account);
        const overlap_s = flags.overlap === undefined ? undefined : flags.overlap / 1000;
        if (overlap_s === undefined)
          await cli.confirm(
            `Replace the secret of ${args.account}? The old secret stops working immediately.`,
            flags.yes,
          );
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call(
          'serviceAccountSecretRotate',
          { params, body: { overlap_s } },
          options,
        );
        cli.out.done(
          `Rotated the secret of ${response.data.service_account.name} (${response.data.service_account.id}).`,
          response,
        );
        if (cli.out.json) return;
        cli.out.print(response.data.client_secret);
        cli.out.say('The client secret is shown once: store it now.');
      },
    }),
    token,
  ],
};
