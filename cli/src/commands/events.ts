import type { ProjectEvent } from '@gpuaas/sdk';
import { safeJson } from '../clean.ts';
import { command, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';

const line = (event: ProjectEvent): string =>
  [event.time.slice(0, 19).concat('Z'), event.type.padEnd(26), event.subject].join('  ');

const follow = async (
  cli: Cli,
  project_id: string,
  options: { type: string | undefined; after: string | undefined },
) => {
  const stream = (await cli.client()).eventStream(
    { params: { project_id }, query: { type: options.type } },
    {
      signal: cli.signal,
      lastEventId: options.after,
      onReconnect: (err) => cli.out.say(`${err.detail} Connecting again ...`),
    },
  );
  if (!cli.out.json) cli.out.say('Waiting for events; Ctrl-C ends.');
  for await (const event of stream) cli.out.print(cli.out.json ? safeJson(event) : line(event));
};

export const events = command({
  name: 'events',
  summary: 'events of a project, oldest first; as they happen with --follow',
  scope: 'project',
  flags: {
    follow: { ...toggle('stay and print events as they happen, one JSON object a line in a pipe'), short: 'f' },
    type: text('only this type, such as project.updated', 'type'),
    after: text('with --follow: begin after this event', 'id'),
    ...pageFlags,
  },
  examples: ['gpuaas events --all', 'gpuaas events --follow --type workflow_run.changed'],
  run: async (cli, { flags }) => {
    const project_id = await cli.project();
    if (flags.follow) return follow(cli, project_id, { type: flags.type, after: flags.after });
    const client = await cli.client();
    const read = (query: { limit: number; cursor: string | undefined }) =>
      client.eventList({ params: { project_id }, query: { ...query, type: flags.type } }, { signal: cli.signal });
    cli.out.list(await collect(flags, read), [
      { header: 'TIME', value: ({ time }) => shortTime(time) },
      { header: 'TYPE', value: ({ type }) => type, shrink: 'cut' },
      { header: 'SUBJECT', value: ({ subject }) => subject },
      { header: 'ID', value: ({ id }) => id, optional: true },
      { header: 'CORRELATION', value: ({ correlationid }) => correlationid, optional: true },
    ]);
  },
});
