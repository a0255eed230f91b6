import { ALLOCATION_STATES, type Allocation, MOVING_ALLOCATION_STATES } from '@gpuaas/sdk';
import { choice, command, duration, type Group, list, text, toggle } from '../command.ts';
import { UsageError } from '../exit.ts';
import { allocationParams } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, waitFlags, yesFlags } from '../flags.ts';
import { wipeCertificate } from './allocation-certificate.ts';
import { create, tagsFrom } from './allocation-create.ts';
import { grantCommands } from './allocation-grant.ts';
import { listCommand, named } from './allocation-pages.ts';
import { powerCommands } from './allocation-power.ts';
import { sessionCommands } from './allocation-session.ts';
import { allocationColumns, allocationFields, sentenceOf, timelineColumns } from './allocation-view.ts';
import { assertArrived, finish, followAllocation, GOALS, ownAllocation, waitForAllocation } from './allocation-wait.ts';

export const ls = command({
  name: 'list',
  summary: 'List allocations of the project, newest first',
  scope: 'project',
  flags: { state: choice('Only this state', ALLOCATION_STATES), ...pageFlags },
  run: async (cli, { flags }) => {
    const [client, project_id] = [await cli.client(), await cli.project()];
    const read = (page: { limit: number; cursor: string | undefined }) =>
      client.allocationList({ params: { project_id }, query: { ...page, state: flags.state } }, { signal: cli.signal });
    cli.out.list(await collect(flags, read), allocationColumns);
  },
});

export const get = command({
  name: 'get',
  summary: 'Show one allocation',
  scope: 'project',
  args: named,
  run: async (cli, { args }) => {
    const params = await allocationParams(cli, args.allocation);
    const found = await (await cli.client()).allocationGet({ params }, { signal: cli.signal });
    cli.out.item(found, allocationFields(found, Date.now()));
  },
});

export const release = command({
  name: 'release',
  summary: 'Release it: billing ends, its disks are wiped',
  scope: 'project',
  args: named,
  flags: { ...waitFlags, ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const params = await allocationParams(cli, args.allocation);
    await cli.confirm(`Release ${args.allocation}? Its data is wiped.`, flags.yes);
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const response = await (await cli.client()).call('allocationRelease', { params, body: {} }, options);
    await finish(cli, response, {
      ...ownAllocation(cli, params, 'released', flags.timeout),
      sentence: `Releasing ${response.data.name} (${response.data.id}).`,
      wait: flags.wait,
      dataOf: (allocation) => allocation,
    });
  },
});

const timeline = listCommand({
  name: 'timeline',
  summary: 'Show its timeline, oldest first',
  columns: timelineColumns,
  read: (client, asked, options) => client.allocationTimeline(asked, options),
});

const wait = command({
  name: 'wait',
  summary: 'Wait until it is active, released, or its VM is on or off',
  scope: 'project',
  args: named,
  flags: { for: choice('State to wait for (default active)', GOALS), timeout: waitFlags.timeout },
  run: async (cli, { args, flags }) => {
    const params = await allocationParams(cli, args.allocation);
    const { undo: _, ...waited } = ownAllocation(cli, params, flags.for ?? 'active', flags.timeout);
    const allocation = await waitForAllocation(cli, waited);
    if (cli.out.json) cli.out.item(allocation);
    assertArrived(cli, allocation, waited);
    if (!cli.out.json) cli.out.print(sentenceOf(allocation));
  },
});

const WATCH_MS = 3_600_000;

const watch = command({
  name: 'watch',
  summary: 'Watch progress until it is active, released or failed',
  scope: 'project',
  args: named,
  flags: { timeout: duration('Maximum time to watch, like 90s or 10m (default 1h)') },
  run: async (cli, { args, flags }) => {
    const params = await allocationParams(cli, args.allocation);
    const { undo: _, ...own } = ownAllocation(cli, params, 'active', flags.timeout ?? WATCH_MS);
    const waited = { ...own, resume: ['allocation', 'watch', params.allocation_id] };
    const rests = ({ state, progress }: Allocation) =>
      progress === null && !MOVING_ALLOCATION_STATES.some((moving) => moving === state);
    const found = await followAllocation(cli, waited, rests);
    if (cli.out.json) cli.out.item(found);
    assertArrived(cli, found, { ...waited, goal: found.state === 'released' ? 'released' : 'active' });
    if (!cli.out.json) cli.out.print(sentenceOf(found));
  },
});

type Change = Readonly<{ tag: string[] | undefined; untag: string[] | undefined }>;

/** The API replaces all tags; the CLI adds and removes single tags. */
const tagsAfter = ({ tags }: Allocation, { tag, untag }: Change): Allocation['tags'] | undefined => {
  if (tag === undefined && untag === undefined) return undefined;
  const removed = new Set(untag);
  const kept = Object.entries(tags).filter(([key]) => !removed.has(key));
  return { ...Object.fromEntries(kept), ...tagsFrom(tag ?? []) };
};

const update = command({
  name: 'update',
  summary: 'Rename, tag, protect, or change the maximum duration',
  scope: 'project',
  args: named,
  flags: {
    name: text('New name', 'name'),
    tag: list('Set a tag, like team=vision; repeatable', 'key=value'),
    untag: list('Remove a tag; repeatable', 'key'),
    protect: toggle('Block release until unprotected'),
    'no-protect': toggle('Remove the protection'),
    'max-duration': duration('Release automatically this long after activation, like 4h'),
    unlimited: toggle('Remove the maximum duration'),
    ...ifMatchFlags,
  },
  run: async (cli, { args, flags }) => {
    const { name, protect, maxDuration, unlimited } = flags;
    if (unlimited && maxDuration !== undefined)
      throw new UsageError('--unlimited and --max-duration cannot be combined.');
    if ([name, flags.tag, flags.untag, protect, maxDuration, unlimited].every((value) => value === undefined))
      throw new UsageError(
        'Nothing to change.',
        'Add --name, --tag, --untag, --protect, --no-protect or --max-duration.',
      );
    const [client, params] = [await cli.client(), await allocationParams(cli, args.allocation)];
    const found = await client.allocationGet({ params }, { signal: cli.signal });
    const max_duration_s = unlimited ? null : maxDuration === undefined ? undefined : maxDuration / 1000;
    const body = { name, tags: tagsAfter(found, flags), is_protected: protect, max_duration_s };
    const ifMatch = flags.ifMatch ?? found.version;
    const response = await client.call('allocationUpdate', { params, body }, { ifMatch, signal: cli.signal });
    cli.out.done(`Updated allocation ${response.data.name} (${response.data.id}).`, response);
  },
});

export const allocation: Group = {
  name: 'allocation',
  summary: 'Launch, watch and release GPUs',
  commands: [
    ...[create, ls, get, timeline, watch, wait, update],
    ...powerCommands,
    ...sessionCommands,
    ...grantCommands,
    release,
    wipeCertificate,
  ],
};

/** Short aliases. */
export const aliases = {
  launch: { ...create, name: 'launch' },
  ls: { ...ls, name: 'ls' },
  get,
  release,
} as const;
