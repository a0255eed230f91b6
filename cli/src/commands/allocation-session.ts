/** The sessions of an allocation: listing them, ending one, and replaying a recorded terminal. */
import { open } from 'node:fs/promises';
import type { TerminalSession } from '@gpuaas/sdk';
import { safeJson } from '../clean.ts';
import { command, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { allocationParams } from '../find.ts';
import { yesFlags } from '../flags.ts';
import { pathOf } from '../io.ts';
import { type Column, shortTime } from '../table.ts';
import { listCommand, named } from './allocation-pages.ts';

const columns: readonly Column<TerminalSession>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'STATE', value: ({ state, end_reason }) => end_reason ?? state },
  { header: 'WHO', value: ({ principal_name }) => principal_name, shrink: 'cut' },
  // Without the year it fits beside an ID in 80 columns; the view of one session shows all of it.
  { header: 'OPENED UTC', value: ({ opened_at }) => opened_at && shortTime(opened_at).slice(5, -1) },
  { header: 'PORT', value: ({ port }) => port, align: 'right', optional: true },
  { header: 'RECORDED', value: ({ is_recorded }) => is_recorded, optional: true },
  { header: 'FROM', value: ({ source_ip }) => source_ip, optional: true },
  { header: 'IN', value: ({ bytes_in }) => bytes_in, align: 'right', optional: true },
  { header: 'OUT', value: ({ bytes_out }) => bytes_out, align: 'right', optional: true },
];

const list = listCommand({
  name: 'list',
  summary: 'List sessions, newest first',
  columns,
  read: (client, asked, options) => client.terminalSessionList(asked, options),
});

const get = command({
  name: 'get',
  summary: 'Show one session',
  scope: 'project',
  args: { ...named, session: 'ID' },
  run: async (cli, { args }) => {
    const params = { ...(await allocationParams(cli, args.allocation)), session_id: args.session };
    cli.out.item(await (await cli.client()).terminalSessionGet({ params }, { signal: cli.signal }));
  },
});

const end = command({
  name: 'end',
  summary: 'Close a session',
  scope: 'project',
  args: { ...named, session: 'ID' },
  flags: yesFlags,
  run: async (cli, { args, flags }) => {
    const params = { ...(await allocationParams(cli, args.allocation)), session_id: args.session };
    await cli.confirm(`Close session ${args.session}?`, flags.yes);
    const response = await (await cli.client()).call('terminalSessionClose', { params }, { signal: cli.signal });
    cli.out.done(`Closing session ${args.session}.`, response, { id: args.session, ending: true });
  },
});

const recording = command({
  name: 'recording',
  summary: 'Download a terminal recording for asciinema',
  scope: 'project',
  args: { ...named, session: 'ID' },
  flags: { output: { ...text('Write to a new file', 'file'), short: 'o' } },
  examples: ['gpuaas allocation recording train ses_1 -o train.cast', 'asciinema play train.cast'],
  run: async (cli, { args, flags }) => {
    const params = { ...(await allocationParams(cli, args.allocation)), session_id: args.session };
    const lines = (await cli.client()).terminalRecordingGet({ params }, { signal: cli.signal });
    if (flags.output === undefined) {
      // Recorded output may contain anything; as JSON it is text and moves no cursor.
      for await (const line of lines) cli.io.stdout.write(`${safeJson(line)}\n`);
      return;
    }
    const file = await open(pathOf(cli.io, flags.output), 'wx', 0o600).catch((err) => {
      if (err.code === 'EEXIST')
        throw new UsageError(`The file "${flags.output}" already exists.`, 'Use another file with -o.');
      throw new UsageError(`The file "${flags.output}" cannot be written: ${err.code ?? err.message}.`);
    });
    let count = 0;
    try {
      for await (const line of lines) {
        await file.write(`${JSON.stringify(line)}\n`);
        count++;
      }
    } finally {
      await file.close();
    }
    if (cli.out.json) return cli.out.item({ session_id: args.session, output: flags.output, line_count: count });
    cli.out.print(`Wrote the recording of ${args.session} to ${flags.output}: ${count} lines.`);
  },
});

export const sessionCommands = [
  { name: 'session', summary: 'List, show and close sessions', commands: [list, get, end] },
  recording,
];
