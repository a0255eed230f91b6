import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { AUDIT_RESULTS, type AuditLog } from '@gpuaas/sdk';
import { choice, command, type Group, text } from '../command.ts';
import { collect, pageFlags } from '../flags.ts';
import { pathOf } from '../io.ts';
import { type Column, shortTime } from '../table.ts';

export const auditColumns: readonly Column<AuditLog>[] = [
  { header: 'TIME', value: ({ created_at }) => shortTime(created_at) },
  { header: 'RESULT', value: ({ result }) => result },
  { header: 'ACTION', value: ({ action }) => action, shrink: 'cut-start' },
  { header: 'TARGET', value: ({ target_id }) => target_id },
  { header: 'ACTOR', value: ({ actor_id, actor_kind }) => actor_id ?? actor_kind, optional: true },
  { header: 'CORRELATION', value: ({ correlation_id }) => correlation_id, optional: true },
];

export const auditFilters = {
  action: text('Only this action, such as project.create', 'action'),
  actor: text('Only by this user or service account', 'id'),
  target: text('Only on this target', 'id'),
  'in-project': text('Only in this project', 'id'),
  result: choice('Only this result', AUDIT_RESULTS),
  'by-correlation-id': text('Only this correlation id', 'id'),
  since: text('From this time, RFC 3339 such as 2026-11-15T00:00:00Z', 'time'),
  until: text('Before this time, RFC 3339', 'time'),
} as const;

type Filters = {
  action: string | undefined;
  actor: string | undefined;
  target: string | undefined;
  inProject: string | undefined;
  result: AuditLog['result'] | undefined;
  byCorrelationId: string | undefined;
  since: string | undefined;
  until: string | undefined;
};
export const auditQuery = (flags: Filters) => ({
  action: flags.action,
  actor_id: flags.actor,
  target_id: flags.target,
  project_id: flags.inProject,
  result: flags.result,
  correlation_id: flags.byCorrelationId,
  since: flags.since,
  until: flags.until,
});

/** Lists hold what is in the database; `reported` is what the pages said. */
export const sayArchived = (say: (text: string) => void, reported: string | null): void => {
  if (reported !== null) say(`Rows until ${reported} are archived: export them with \`gpuaas audit export\`.`);
};

/** One row per line; JSON escapes line feeds, so a line is always a complete row. */
async function* asLines(rows: AsyncIterable<AuditLog>, count: (rows: number) => void): AsyncGenerator<string> {
  let written = 0;
  for await (const row of rows) {
    yield `${JSON.stringify(row)}\n`;
    count(++written);
  }
}

export const audit: Group = {
  name: 'audit',
  summary: 'Show the audit log of an organization',
  commands: [
    command({
      name: 'list',
      summary: 'List audit rows, newest first',
      scope: 'organization',
      flags: { ...auditFilters, ...pageFlags },
      run: async (cli, { flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        let archived: string | null = null;
        const read = async (page: { limit: number; cursor: string | undefined }) => {
          const found = await client.auditLogList(
            { params: { organization_id }, query: { ...page, ...auditQuery(flags) } },
            { signal: cli.signal },
          );
          archived = found.archived_until;
          return found;
        };
        cli.out.list(await collect(flags, read), auditColumns);
        sayArchived(cli.out.say, archived);
      },
    }),
    command({
      name: 'export',
      summary: 'Export all rows as JSON lines, oldest first',
      scope: 'organization',
      flags: { ...auditFilters, output: { ...text('Write to a new file', 'file'), short: 'o' } },
      run: async (cli, { flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const rows = client.auditLogExport(
          { params: { organization_id }, query: auditQuery(flags) },
          { signal: cli.signal },
        );
        let written = 0;
        const lines = asLines(rows, (count) => {
          written = count;
        });
        if (flags.output === undefined) await pipeline(lines, cli.io.stdout, { end: false });
        else await pipeline(lines, createWriteStream(pathOf(cli.io, flags.output), { flags: 'wx', mode: 0o600 }));
        cli.out.say(`${written} rows${flags.output === undefined ? '' : ` written to ${flags.output}`}.`);
      },
    }),
  ],
};
