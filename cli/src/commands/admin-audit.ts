import { command, type Group, text } from '../command.ts';
import { CliError } from '../exit.ts';
import { collect, pageFlags } from '../flags.ts';
import { auditColumns, auditFilters, auditQuery, sayArchived } from './audit.ts';

export const adminAudit: Group = {
  name: 'audit',
  summary: 'Read and verify the audit log',
  commands: [
    command({
      name: 'list',
      summary: 'List audit rows of all organizations, newest first',
      flags: { 'in-organization': text('Only this organization', 'id'), ...auditFilters, ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        let archived: string | null = null;
        const read = async (page: { limit: number; cursor: string | undefined }) => {
          const found = await client.adminAuditLogList(
            { query: { ...page, ...auditQuery(flags), organization_id: flags.inOrganization } },
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
      name: 'verify',
      summary: 'Verify all chains against the signed heads; exit code 1 if tampered with',
      flags: { 'in-organization': text('Only this organization', 'id') },
      run: async (cli, { flags }) => {
        const query = { organization_id: flags.inOrganization };
        const verdict = await (await cli.client()).adminAuditLogVerify({ query }, { signal: cli.signal });
        const findings = verdict.chains.flatMap(({ chain, findings: found }) =>
          found.map((finding) => ({ chain, ...finding })),
        );
        if (cli.out.json) cli.out.item(verdict);
        else {
          cli.out.table(verdict.chains, [
            { header: 'CHAIN', value: ({ chain }) => chain },
            { header: 'SEALED', value: ({ rows_sealed }) => rows_sealed, align: 'right' },
            { header: 'UNSEALED', value: ({ rows_unsealed }) => rows_unsealed, align: 'right' },
            { header: 'HEAD', value: ({ head_hash }) => head_hash?.slice(0, 16) },
            { header: 'FINDINGS', value: ({ findings: found }) => found.length, align: 'right' },
          ]);
          const tail = verdict.chains.flatMap(({ unsealed_ids }) => unsealed_ids);
          if (tail.length > 0)
            cli.out.say(
              `Not sealed yet: ${tail.slice(0, 5).join(', ')}${tail.length > 5 ? ` and ${tail.length - 5} more` : ''}.`,
            );
          for (const { chain, kind, sequence, audit_log_id, detail } of findings)
            cli.out.print(
              `${kind}  ${chain}  ${audit_log_id ?? (sequence === null ? '-' : `#${sequence}`)}  ${detail}`,
            );
        }
        if (!verdict.intact)
          throw new CliError(
            'failure',
            `The audit log was tampered with: ${findings.length === 1 ? 'one finding' : `${findings.length} findings`}.`,
            'Do not change the database or the heads file. Compare them with your backups.',
          );
        if (!cli.out.json) cli.out.say(`Intact, checked against ${verdict.heads_file_lines} signed heads.`);
      },
    }),
  ],
};
