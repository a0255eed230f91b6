import { TENANT_ROLES } from '@gpuaas/sdk';
import { choice, command, duration, type Group, required } from '../command.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

export const invitation: Group = {
  name: 'invitation',
  summary: 'Invite people to an organization',
  commands: [
    command({
      name: 'list',
      summary: 'List invitations',
      scope: 'organization',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.invitationList({ params: { organization_id }, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ID', value: ({ id }) => id },
          { header: 'EMAIL', value: ({ email }) => email, shrink: 'cut' },
          { header: 'ROLE', value: ({ role }) => role },
          { header: 'STATE', value: ({ state }) => state },
          { header: 'EXPIRES', value: ({ expires_at }) => shortTime(expires_at) },
        ]);
      },
    }),
    command({
      name: 'create',
      summary: 'Invite a person; the token is shown once',
      scope: 'organization',
      args: { email: 'Email address of the user' },
      flags: {
        role: required(choice('Role in the organization', TENANT_ROLES)),
        'expires-in': duration('Time in which it can be accepted, like 12h or 7d (default 7d)'),
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const params = { organization_id: await cli.organization() };
        const expires_in_s = flags.expiresIn === undefined ? undefined : flags.expiresIn / 1000;
        const body = { email: args.email, role: flags.role, expires_in_s };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('invitationCreate', { params, body }, options);
        cli.out.done(`Invited ${args.email} as ${flags.role} (${response.data.invitation.id}).`, response);
        if (cli.out.json) return;
        cli.out.print(response.data.token);
        cli.out.say(`The token is shown once. The invited user runs: gpuaas invitation accept ${response.data.token}`);
      },
    }),
    command({
      name: 'revoke',
      summary: 'Withdraw a pending invitation',
      scope: 'organization',
      args: { invitation: 'ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const params = { organization_id: await cli.organization(), invitation_id: args.invitation };
        await cli.confirm(`Withdraw invitation ${args.invitation}?`, flags.yes);
        const response = await (await cli.client()).call('invitationRevoke', { params }, { signal: cli.signal });
        cli.out.done(`Revoked invitation ${args.invitation}.`, response, { id: args.invitation, revoked: true });
      },
    }),
    command({
      name: 'accept',
      summary: 'Join the organization that invited you',
      args: { token: 'The token of the invitation' },
      flags: { ...keyFlags },
      run: async (cli, { args, flags }) => {
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('invitationAccept', { body: { token: args.token } }, options);
        cli.out.done(`Joined organization ${response.data.name} (${response.data.id}).`, response);
      },
    }),
  ],
};
