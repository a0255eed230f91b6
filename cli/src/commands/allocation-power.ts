/**
 * Stop, start, reboot and reinstall of a slice. Who stops a machine must not believe that it costs nothing then, so the help
 * and the answer both say that it is charged until it is released.
 */
import type { Allocation, Answer } from '@gpuaas/sdk';
import { command, duration, list, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { UsageError } from '../exit.ts';
import { allocationParams, sshKeyId } from '../find.ts';
import { keyFlags, waitFlags, yesFlags } from '../flags.ts';
import { userDataFrom } from '../user-data.ts';
import { named } from './allocation-pages.ts';
import { finish, ownAllocation } from './allocation-wait.ts';

const hard = (what: string) => ({ hard: toggle(`${what} without asking the guest`) }) as const;

type Flags = Readonly<{
  wait: boolean | undefined;
  timeout: number | undefined;
  idempotencyKey: string | undefined;
}>;

const followed = (
  cli: Cli,
  answer: Answer<Allocation>,
  told: Readonly<{ flags: Flags; goal: 'on' | 'off'; doing: string; note?: string }>,
): Promise<void> => {
  const { id, name, project_id } = answer.data;
  const { undo: _, ...waited } = ownAllocation(cli, { project_id, allocation_id: id }, told.goal, told.flags.timeout);
  const note = told.note === undefined ? '' : ` ${told.note}`;
  return finish(cli, answer, {
    ...waited,
    sentence: `${told.doing} ${name} (${id}).${note}`,
    wait: told.flags.wait,
    dataOf: (allocation) => allocation,
  });
};

const optionsOf = (cli: Cli, flags: Flags) => ({ idempotencyKey: flags.idempotencyKey, signal: cli.signal });
const CHARGED = 'Its GPUs stay yours and are charged until you release it.';

const stop = command({
  name: 'stop',
  summary: 'switch a slice off; its GPUs stay yours and are charged',
  scope: 'project',
  args: named,
  flags: {
    grace: duration('how long the guest may take to shut down, like 90s; 60s unless told'),
    ...hard('switch it off'),
    ...waitFlags,
    ...keyFlags,
  },
  run: async (cli, { args, flags }) => {
    if (flags.hard && flags.grace !== undefined) throw new UsageError('--hard and --grace exclude each other.');
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const body = {
      is_hard: flags.hard,
      grace_s: flags.grace === undefined ? undefined : Math.round(flags.grace / 1000),
    };
    const answer = await client.call('allocationStop', { params, body }, optionsOf(cli, flags));
    await followed(cli, answer, { flags, goal: 'off', doing: 'Stopping', note: CHARGED });
  },
});

const start = command({
  name: 'start',
  summary: 'switch a slice on again, at the same address',
  scope: 'project',
  args: named,
  flags: { ...waitFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const answer = await client.call('allocationStart', { params, body: {} }, optionsOf(cli, flags));
    await followed(cli, answer, { flags, goal: 'on', doing: 'Starting' });
  },
});

const reboot = command({
  name: 'reboot',
  summary: 'reboot a slice; everything on it stays',
  scope: 'project',
  args: named,
  flags: { ...hard('reset it'), ...waitFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const body = { is_hard: flags.hard };
    const answer = await client.call('allocationReboot', { params, body }, optionsOf(cli, flags));
    await followed(cli, answer, { flags, goal: 'on', doing: 'Rebooting' });
  },
});

const reinstall = command({
  name: 'reinstall',
  summary: 'install a slice anew: its boot disk is erased, data disks stay',
  scope: 'project',
  args: named,
  flags: {
    image: text('another image, in its newest version; see gpuaas image list', 'name'),
    'ssh-key': list('key that may sign in, by name or id; repeatable; those it has unless told', 'key'),
    'user-data': text('cloud-config or script for its first start; what it has unless told', 'file'),
    'no-user-data': toggle('start without user data'),
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
      `Reinstall ${args.allocation}? Its boot disk is erased; its data disks, id and address stay.`,
      flags.yes,
    );
    const body = { image_name: flags.image, ssh_key_ids: keys, user_data };
    const answer = await client.call('allocationReinstall', { params, body }, optionsOf(cli, flags));
    const note = 'It will have a new host key: then run gpuaas ssh-config --write if you use that.';
    await followed(cli, answer, { flags, goal: 'on', doing: 'Reinstalling', note });
  },
});

export const powerCommands = [stop, start, reboot, reinstall];
