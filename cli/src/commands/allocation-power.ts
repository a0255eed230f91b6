/**
 * Stop, start, reboot and reinstall of a slice. A stopped VM is still charged until it is released, so the help and the
 * output both say so.
 */
import type { Allocation, ApiResponse } from '@gpuaas/sdk';
import { command, duration, list, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { allocationParams, sshKeyId } from '../find.ts';
import { keyFlags, waitFlags, yesFlags } from '../flags.ts';
import { userDataFrom } from '../user-data.ts';
import { named } from './allocation-pages.ts';
import { finish, ownAllocation } from './allocation-wait.ts';

const hard = (what: string) => ({ hard: toggle(`${what} without shutting down the guest OS`) }) as const;

type Flags = Readonly<{
  wait: boolean | undefined;
  timeout: number | undefined;
  idempotencyKey: string | undefined;
}>;

const followed = (
  cli: Cli,
  response: ApiResponse<Allocation>,
  words: Readonly<{ flags: Flags; goal: 'on' | 'off'; doing: string; note?: string }>,
): Promise<void> => {
  const { id, name, project_id } = response.data;
  const { undo: _, ...waited } = ownAllocation(cli, { project_id, allocation_id: id }, words.goal, words.flags.timeout);
  const note = words.note === undefined ? '' : ` ${words.note}`;
  return finish(cli, response, {
    ...waited,
    sentence: `${words.doing} ${name} (${id}).${note}`,
    wait: words.flags.wait,
    dataOf: (allocation) => allocation,
  });
};

const optionsOf = (cli: Cli, flags: Flags) => ({ idempotencyKey: flags.idempotencyKey, signal: cli.signal });
const CHARGED = 'Its GPUs stay allocated and charged until release.';

const stop = command({
  name: 'stop',
  summary: 'Power off a slice; its GPUs stay allocated and charged',
  scope: 'project',
  args: named,
  flags: {
    grace: duration('Time for the guest OS to shut down, like 90s (default 60s)'),
    ...hard('Power off'),
    ...waitFlags,
    ...keyFlags,
  },
  run: async (cli, { args, flags }) => {
    if (flags.hard && flags.grace !== undefined) throw new UsageError('--hard and --grace cannot be combined.');
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const body = {
      is_hard: flags.hard,
      grace_s: flags.grace === undefined ? undefined : Math.round(flags.grace / 1000),
    };
    const response = await client.call('allocationStop', { params, body }, optionsOf(cli, flags));
    await followed(cli, response, { flags, goal: 'off', doing: 'Stopping', note: CHARGED });
  },
});

const start = command({
  name: 'start',
  summary: 'Power on a slice; it keeps its address',
  scope: 'project',
  args: named,
  flags: { ...waitFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const response = await client.call('allocationStart', { params, body: {} }, optionsOf(cli, flags));
    await followed(cli, response, { flags, goal: 'on', doing: 'Starting' });
  },
});

const reboot = command({
  name: 'reboot',
  summary: 'Reboot a slice; it keeps its data',
  scope: 'project',
  args: named,
  flags: { ...hard('Reset'), ...waitFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const body = { is_hard: flags.hard };
    const response = await client.call('allocationReboot', { params, body }, optionsOf(cli, flags));
    await followed(cli, response, { flags, goal: 'on', doing: 'Rebooting' });
  },
});

const reinstall = command({
  name: 'reinstall',
  summary: 'Reinstall a slice: wipes its boot disk, keeps data disks',
  scope: 'project',
  args: named,
  flags: {
    image: text('Another image, newest version; see gpuaas image list', 'name'),
    'ssh-key': list('SSH key to install, by name or ID; repeatable (default: current keys)', 'key'),
    'user-data': text('Cloud-config or script for its first boot (default: current user data)', 'file'),
    'no-user-data': toggle('Boot without user data'),
    ...waitFlags,
    ...yesFlags,
    ...keyFlags,
  },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const user_data = flags.userData === false ? null : await userDataFrom(cli.io, flags.userData);
    const keys =
      flags.sshKey === undefined ? undefined : await Promise.all(flags.sshKey.map((key) => sshKeyId(cli, key)));
    await cli.confirm(
      `Reinstall ${args.allocation}? Its boot disk is wiped. It keeps its data disks, ID and address.`,
      flags.yes,
    );
    const body = { image_name: flags.image, ssh_key_ids: keys, user_data };
    const response = await client.call('allocationReinstall', { params, body }, optionsOf(cli, flags));
    const note = 'It will have a new SSH host key: if you use ssh-config, run gpuaas ssh-config --write afterwards.';
    await followed(cli, response, { flags, goal: 'on', doing: 'Reinstalling', note });
  },
});

export const powerCommands = [stop, start, reboot, reinstall];
