/** After the database was restored from a backup: end old credentials, hold destructive tasks, release node by node. */
import type { Operations } from '@gpuaas/sdk';
import { command, type Group, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { nodeId } from '../find.ts';
import { keyFlags, yesFlags } from '../flags.ts';
import { counted, shortTime } from '../table.ts';

type Status = Operations['adminRestoreGet']['response'];

const reason = required(text('Reason, recorded in the audit log'));

const endedText = (ended: NonNullable<Status['restore']>['ended']): string[] =>
  Object.entries(ended).map(([what, count]) =>
    counted(count, what.replaceAll('_', ' ').replace(/s$/, '').replace(/^api /, 'API ')),
  );

const show = (cli: Cli, { restore, held_nodes, ...rest }: Status): void => {
  const { out } = cli;
  if (restore === null) {
    out.item({ restore, held_nodes, ...rest }, { restore: 'none recorded' });
    return;
  }
  const lost = restore.lost_changes.map(
    ({ organization_id, audit_rows }) => `${audit_rows} in ${organization_id ?? 'the platform'}`,
  );
  out.item(
    { restore, held_nodes, ...rest },
    {
      restore: restore.id,
      began: shortTime(restore.began_at),
      'older than': shortTime(restore.older_than),
      reason: restore.reason,
      ended: endedText(restore.ended),
      'lost changes': lost.length === 0 ? 'none known' : lost,
      'identity changes': restore.identity_changes.length,
      'held nodes': held_nodes.length,
    },
  );
  if (!out.json && restore.identity_changes.length > 0) {
    out.print('Changes of identities since the backup. Repeat the removals:');
    out.table(restore.identity_changes, [
      { header: 'AT', value: ({ at }) => shortTime(at) },
      { header: 'ACTION', value: ({ action }) => action },
      { header: 'TARGET', value: ({ target_id }) => target_id },
      { header: 'BY', value: ({ actor_id }) => actor_id, optional: true },
      { header: 'ORGANIZATION', value: ({ organization_id }) => organization_id ?? 'platform', optional: true },
    ]);
  }
  if (out.json || held_nodes.length === 0) return;
  out.table(held_nodes, [
    { header: 'NODE', value: ({ name }) => name },
    { header: 'REPORTED', value: ({ inventory_at }) => (inventory_at === null ? 'not yet' : shortTime(inventory_at)) },
    { header: 'FINDINGS', value: ({ findings }) => findings, align: 'right' },
    { header: 'SSH KEYS', value: ({ ssh_keys }) => ssh_keys.length, align: 'right' },
  ]);
  out.say('Compare each host (gpuaas admin node drift NODE), then: gpuaas admin restore release NODE --reason REASON');
};

export const adminRestore: Group = {
  name: 'restore',
  summary: 'After a database restore: end old credentials, release held tasks',
  commands: [
    command({
      name: 'show',
      summary: 'Show the newest restore and the nodes whose destructive tasks are held',
      run: async (cli) => show(cli, await (await cli.client()).adminRestoreGet({}, { signal: cli.signal })),
    }),
    command({
      name: 'begin',
      summary: 'Record a restore: end older credentials and hold destructive tasks',
      flags: {
        'older-than': text(
          'End only what was created before this time, like 2026-05-01T00:00:00Z (default: now)',
          'time',
        ),
        'end-certificates': toggle('End also node certificates; every node is enrolled again'),
        reason,
        ...yesFlags,
        ...keyFlags,
      },
      run: async (cli, { flags }) => {
        await cli.confirm(
          'End every token, secret, session, ticket and invitation, and hold destructive tasks of all nodes? Everyone signs in again.',
          flags.yes,
        );
        const body = {
          reason: flags.reason,
          ...(flags.olderThan === undefined ? {} : { older_than: flags.olderThan }),
          ...(flags.endCertificates === true ? { ends_certificates: true } : {}),
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminRestoreBegin', { body }, options);
        const held = counted(response.data.held_nodes.length, 'node');
        cli.out.done(`Destructive tasks of ${held} are held. Sign in again: gpuaas login`, response);
      },
    }),
    command({
      name: 'release',
      summary: 'Release the held tasks of a node after comparing its host',
      args: { node: 'Name or ID' },
      flags: {
        'accept-findings': toggle('Release although the host differs from the claims'),
        reason,
        ...yesFlags,
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const node_id = await nodeId(cli, args.node);
        await cli.confirm(
          `Release held tasks of ${args.node}? Waiting wipes start, and data on its disks ends.`,
          flags.yes,
        );
        const body = { reason: flags.reason, accepts_findings: flags.acceptFindings === true };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const client = await cli.client();
        const response = await client.call('adminNodeRestoreRelease', { params: { node_id }, body }, options);
        const left = response.data.held_nodes.length;
        const rest = left === 0 ? 'no node remains' : left === 1 ? '1 node remains' : `${left} nodes remain`;
        cli.out.done(`Tasks of ${args.node} are released; ${rest} held.`, response);
      },
    }),
  ],
};
