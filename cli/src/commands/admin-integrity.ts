import type { ApiResponse } from '@gpuaas/sdk';
import { command, type Group, integer, toggle } from '../command.ts';
import { CliError } from '../exit.ts';
import { yesFlags } from '../flags.ts';

export const adminInvariants: Group = {
  name: 'invariants',
  summary: 'Check invariants',
  commands: [
    command({
      name: 'check',
      summary: 'Run the invariant queries (read-only); exit code 1 on a violation',
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
            'Do not change data by hand. First find the cause in the audit log and timeline of each resource.',
          );
        if (!cli.out.json) cli.out.print(`All ${checks} invariants hold.`);
      },
    }),
  ],
};

export const adminWipeProof: Group = {
  name: 'wipe-proof',
  summary: 'Verify wipe proofs',
  commands: [
    command({
      name: 'verify',
      summary: 'Verify all proof chains against the audit log; exit code 1 if tampered with',
      run: async (cli) => {
        const verdict = await (await cli.client()).adminWipeProofVerify({}, { signal: cli.signal });
        const { findings, proofs, chains } = verdict;
        if (cli.out.json) cli.out.item(verdict);
        else if (findings.length > 0)
          cli.out.table(findings, [
            { header: 'KIND', value: ({ kind }) => kind },
            { header: 'OF', value: ({ target_id }) => target_id },
            { header: '#', value: ({ sequence }) => sequence, align: 'right' },
            { header: 'PROOF', value: ({ wipe_proof_id }) => wipe_proof_id, optional: true },
            { header: 'DETAIL', value: ({ detail }) => detail, shrink: 'wrap' },
          ]);
        if (!verdict.intact)
          throw new CliError(
            'failure',
            `${findings.length === 1 ? 'One finding' : `${findings.length} findings`} in ${proofs} proofs.`,
            'Do not change the database. Compare it with a backup, and verify the audit log: gpuaas admin audit verify',
          );
        if (!cli.out.json) cli.out.print(`All ${proofs} proofs in ${chains} chains are intact.`);
      },
    }),
  ],
};

export const adminClaims: Group = {
  name: 'claims',
  summary: 'Manage claims of allocations',
  commands: [
    command({
      name: 'backfill',
      summary: 'Create missing claim rows in batches; rerun to continue',
      flags: {
        'dry-run': toggle('Show the changes without making them'),
        'batch-size': integer('Allocations per transaction (default 100)'),
        ...yesFlags,
      },
      run: async (cli, { flags }) => {
        const is_dry_run = flags.dryRun === true;
        if (!is_dry_run) await cli.confirm('Create the missing claims? Preview them with --dry-run.', flags.yes);
        const client = await cli.client();
        const claimed: { allocation_id: string; node_id: string }[] = [];
        const skipped: { allocation_id: string; reason: string }[] = [];
        const ask = async (after_id: string | undefined): Promise<ApiResponse<object>> => {
          const body = { is_dry_run, after_id, limit: flags.batchSize };
          const response = await client.call('adminClaimBackfill', { body }, { signal: cli.signal });
          claimed.push(...response.data.claimed);
          skipped.push(...response.data.skipped);
          const { next_after_id } = response.data;
          return next_after_id === null ? response : ask(next_after_id);
        };
        const last = await ask(undefined);
        const rows = [
          ...claimed.map(({ allocation_id, node_id }) => ({ allocation_id, verdict: `claims ${node_id}` })),
          ...skipped.map(({ allocation_id, reason }) => ({ allocation_id, verdict: `skipped: ${reason}` })),
        ];
        if (!cli.out.json && rows.length > 0)
          cli.out.table(rows, [
            { header: 'ALLOCATION', value: ({ allocation_id }) => allocation_id },
            { header: 'RESULT', value: ({ verdict }) => verdict, shrink: 'wrap' },
          ]);
        const sentence = is_dry_run
          ? `${claimed.length} to create, ${skipped.length} skipped. No changes were made.`
          : `${claimed.length} created, ${skipped.length} skipped.`;
        cli.out.done(sentence, last, { is_dry_run, claimed, skipped });
      },
    }),
  ],
};
