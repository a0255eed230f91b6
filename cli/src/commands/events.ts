import type { Operations, StreamOptions } from '@gpuaas/sdk';
import { safeJson } from '../clean.ts';
import { command, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

type AnyEvent = Operations['adminEventStream']['response'];

const line = (event: AnyEvent): string =>
  [event.time.slice(0, 19).concat('Z'), event.type.padEnd(26), event.subject].join('  ');

/** Prints events until it is interrupted. */
const follow = async (
  cli: Cli,
  open: (options: StreamOptions) => AsyncIterable<AnyEvent>,
  after: string | undefined,
): Promise<void> => {
  const stream = open({
    signal: cli.signal,
    lastEventId: after,
    onReconnect: (err) => cli.out.say(`${err.detail} Reconnecting ...`),
  });
  if (!cli.out.json) cli.out.say('Waiting for events. Press Ctrl-C to stop.');
  for await (const event of stream) cli.out.print(cli.out.json ? safeJson(event) : line(event));
};

type PageQuery = { limit: number; cursor: string | undefined };

const ofProject = async (cli: Cli, type: string | undefined) => {
  const params = { project_id: await cli.project() };
  const client = await cli.client();
  return {
    open: (options: StreamOptions): AsyncIterable<AnyEvent> => client.eventStream({ params, query: { type } }, options),
    read: (query: PageQuery) => client.eventList({ params, query: { ...query, type } }, { signal: cli.signal }),
  };
};

const ofOrganization = async (cli: Cli, type: string | undefined) => {
  const params = { organization_id: await cli.organization() };
  const client = await cli.client();
  return {
    open: (options: StreamOptions): AsyncIterable<AnyEvent> =>
      client.organizationEventStream({ params, query: { type } }, options),
    read: (query: PageQuery) =>
      client.organizationEventList({ params, query: { ...query, type } }, { signal: cli.signal }),
  };
};

export const events = command({
  name: 'events',
  summary: 'List events of a project or an organization, oldest first, or follow them',
  scope: 'project',
  flags: {
    follow: { ...toggle('Print events as they occur; in a pipe, one JSON object per line'), short: 'f' },
    'all-projects': toggle('Events of the organization and all its projects'),
    type: text('Only this type, such as project.updated', 'type'),
    after: text('With --follow: start after this event', 'id'),
    ...pageFlags,
  },
  examples: [
    'gpuaas events --all',
    'gpuaas events --follow --type workflow_run.changed',
    'gpuaas events --follow --all-projects --type quota.decided',
  ],
  run: async (cli, { flags }) => {
    const { open, read } = await (flags.allProjects ? ofOrganization : ofProject)(cli, flags.type);
    if (flags.follow) return follow(cli, open, flags.after);
    cli.out.list(await collect(flags, read), [
      { header: 'TIME', value: ({ time }) => shortTime(time) },
      { header: 'TYPE', value: ({ type }) => type, shrink: 'cut' },
      { header: 'SUBJECT', value: ({ subject }) => subject },
      { header: 'ID', value: ({ id }) => id, optional: true },
      { header: 'CORRELATION', value: ({ correlationid }) => correlationid, optional: true },
    ]);
  },
});

export const adminEvents = command({
  name: 'events',
  summary: 'Follow events of the control plane',
  flags: {
    type: text('Only this type, such as node.changed', 'type'),
    after: text('Start after this event', 'id'),
  },
  examples: ['gpuaas admin events', 'gpuaas admin events --type node.changed'],
  run: async (cli, { flags }) => {
    const client = await cli.client();
    const request = { query: { type: flags.type } };
    return follow(cli, (options) => client.adminEventStream(request, options), flags.after);
  },
});
