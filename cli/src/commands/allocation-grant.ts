/** Grants: users whose SSH keys open an allocation in addition to the keys of its launch. */
import type { AccessGrant } from '@gpuaas/sdk';
import { command, required, text } from '../command.ts';
import { allocationParams, sshKeyId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { listCommand, named } from './allocation-pages.ts';

const columns: readonly Column<AccessGrant>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'WHO', value: ({ user_name }) => user_name, shrink: 'cut' },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'GRANTED', value: ({ created_at }) => shortTime(created_at) },
  { header: 'REASON', value: ({ state_reason }) => state_reason, shrink: 'wrap', optional: true },
  { header: 'KEY', value: ({ ssh_key_id }) => ssh_key_id, optional: true },
  { header: 'FINGERPRINT', value: ({ fingerprint }) => fingerprint, optional: true },
];

const grants = listCommand({
  name: 'grants',
  summary: 'List SSH keys granted after launch',
  columns,
  read: (client, asked, options) => client.accessGrantList(asked, options),
});

const grant = command({
  name: 'grant',
  summary: 'Grant SSH access to a key',
  scope: 'project',
  args: named,
  flags: { key: required(text('Your key by name, or a member’s key by ID', 'key')), ...keyFlags },
  examples: ['gpuaas allocation grant train --key laptop'],
  run: async (cli, { args, flags }) => {
    const params = await allocationParams(cli, args.allocation);
    const body = { ssh_key_id: await sshKeyId(cli, flags.key) };
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const response = await (await cli.client()).call('accessGrantCreate', { params, body }, options);
    const { id, user_name, fingerprint, state } = response.data;
    cli.out.done(`Granted access to ${user_name} (${fingerprint}): ${id} is ${state}.`, response);
  },
});

const revoke = command({
  name: 'revoke',
  summary: 'Revoke a grant; open connections stay open',
  scope: 'project',
  args: { ...named, grant: 'ID' },
  flags: yesFlags,
  run: async (cli, { args, flags }) => {
    const params = { ...(await allocationParams(cli, args.allocation)), access_grant_id: args.grant };
    await cli.confirm(`Revoke grant ${args.grant}?`, flags.yes);
    const response = await (await cli.client()).call('accessGrantRevoke', { params }, { signal: cli.signal });
    cli.out.done(`Revoking grant ${response.data.id} of ${response.data.user_name}.`, response);
  },
});

export const grantCommands = [grant, grants, revoke];
