import { command, type Group, toggle } from '../command.ts';
import { CliError } from '../exit.ts';
import { keyFlags, yesFlags } from '../flags.ts';

export const adminInvariants: Group = {
  name: 'invariants',
  summary: 'what must always be true',
  commands: [
    command({
      name: 'check',
      summary: 'run the read-only invariant queries now; exit 1 if one is violated',
      run: async (cli) => {
        const verdict = await (await cli.client()).adminInvariantCheck({ query: {} }, { signal: cli.signal });
        const { violations, checks } = verdict;
        if (cli.out.json) cli.out.item(verdict);
        else if (violations.length > 0)
          cli.out.table(violations, [
            { header: 'INVARIANT', value: ({ invariant }) => invariant },
            { header: 'ABOUT', value: ({ subject_id }) => subject_id },
            { header: 'DETAIL', value: ({ detail }) => detail, shrink: 'wrap' },
          ]);
        if (!verdict.is_clean)
          throw new CliError(
            'failure',
            `${violations.length === 1 ? 'One violation' : `${violations.length} violations`} in ${checks} invariants.`,
            'Change nothing by hand: find out first how it came about, by the audit and timeline of what is named.',
          );
        if (!cli.out.json) cli.out.print(`All ${checks} invariants hold.`);
      },
    }),
  ],
};

export const adminClaims: Group = {
  name: 'claims',
  summary: 'claims of allocations on nodes and slots',
  commands: [
    command({
      name: 'backfill',
      summary: 'give node-bound allocations without claims their claim rows',
      flags: { 'dry-run': toggle('show what it would do'), ...yesFlags, ...keyFlags },
      run: async (cli, { flags }) => {
        const is_dry_run = flags.dryRun === true;
        if (!is_dry_run) await cli.confirm('Write the missing claims? See them first with --dry-run.', flags.yes);
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminClaimBackfill', { body: { is_dry_run } }, options);
        const { claimed, skipped } = answer.data;
        const rows = [
          ...claimed.map(({ allocation_id, node_id }) => ({ allocation_id, verdict: `claims ${node_id}` })),
          ...skipped.map(({ allocation_id, reason }) => ({ allocation_id, verdict: `skipped: ${reason}` })),
        ];
        if (!cli.out.json && rows.length > 0)
          cli.out.table(rows, [
            { header: 'ALLOCATION', value: ({ allocation_id }) => allocation_id },
            { header: 'VERDICT', value: ({ verdict }) => verdict, shrink: 'wrap' },
          ]);
        const counts = `${claimed.length} without a claim, ${skipped.length} skipped`;
        cli.out.done(is_dry_run ? `${counts}; nothing was written.` : `${counts}; the claims are written.`, answer);
      },
    }),
  ],
};
