import { type Operations, TRUST_PURPOSES } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import type { Cli } from '../context.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

type Key = Operations['adminTrustKeyGet']['response'];

const columns: readonly Column<Key>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'PURPOSE', value: ({ purpose }) => purpose },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'SINCE', value: ({ state_since }) => shortTime(state_since), optional: true },
  { header: 'UNTIL', value: ({ retires_at }) => shortTime(retires_at), optional: true },
  {
    header: 'FINGERPRINT',
    value: ({ fingerprint_sha256 }) => fingerprint_sha256 ?? '-',
    shrink: 'cut',
    optional: true,
  },
];

const reason = required(text('Reason, recorded in the audit log'));

/** A warning: these agents do not have the new key yet and need it before the previous one expires. */
const printNodesWithoutKey = (
  cli: Cli,
  { nodes_without_key }: Operations['adminTrustKeyActivate']['response'],
): void => {
  if (cli.out.json) return;
  cli.out.say(
    `${nodes_without_key} ${nodes_without_key === 1 ? 'node does' : 'nodes do'} not have it yet; reconnect them before the grace period of the earlier key ends.`,
  );
};

type Move = Readonly<{
  name: string;
  operation: 'adminTrustKeyActivate' | 'adminTrustKeyRetire' | 'adminTrustKeyRevoke';
  summary: string;
  /** Asks for confirmation, because it cannot be undone. */
  question?: string;
}>;

const moveCommand = ({ name, operation, summary, question }: Move) =>
  command({
    name,
    summary,
    args: { key: 'ID' },
    flags: { reason, ...ifMatchFlags, ...(question === undefined ? {} : yesFlags), ...keyFlags },
    run: async (cli, { args, flags }) => {
      const client = await cli.client();
      const params = { trust_key_id: args.key };
      if (question !== undefined) await cli.confirm(question, (flags as { yes?: boolean }).yes);
      const ifMatch = flags.ifMatch ?? (await client.adminTrustKeyGet({ params }, { signal: cli.signal })).version;
      const options = { idempotencyKey: flags.idempotencyKey, ifMatch, signal: cli.signal };
      const response = await client.call(operation, { params, body: { reason: flags.reason } }, options);
      const { id, purpose, state } = response.data;
      cli.out.done(`The ${purpose} key ${id} is ${state}.`, response);
      if ('nodes_without_key' in response.data && response.data.nodes_without_key > 0)
        printNodesWithoutKey(cli, response.data);
    },
  });

export const adminTrust: Group = {
  name: 'trust',
  summary: 'Manage keys that sign node certificates, tasks and wipe certificates',
  commands: [
    command({
      name: 'list',
      summary: 'List keys, newest first',
      flags: { purpose: choice('Only this purpose', TRUST_PURPOSES), ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminTrustKeyList({ query: { ...page, purpose: flags.purpose } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'stage',
      summary: 'Create a key that agents learn to trust; activate it later',
      args: { purpose: 'Node_ca, task_signer or certificate_signer' },
      flags: { reason, ...keyFlags },
      run: async (cli, { args, flags }) => {
        const purpose = args.purpose as Key['purpose'];
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const body = { purpose, reason: flags.reason };
        const response = await (await cli.client()).call('adminTrustKeyCreate', { body }, options);
        const { id } = response.data;
        cli.out.done(
          `The ${purpose} key ${id} is requested. Agents receive it within 30 s. Then activate it: gpuaas admin trust activate ${id}`,
          response,
        );
      },
    }),
    moveCommand({
      name: 'activate',
      operation: 'adminTrustKeyActivate',
      summary: 'Start signing with a staged key; the earlier key stays trusted for a grace period',
    }),
    moveCommand({
      name: 'retire',
      operation: 'adminTrustKeyRetire',
      summary: 'Retire a key that is staged or in its grace period',
      question: 'Retire this key? Agents without a newer key are locked out.',
    }),
    moveCommand({
      name: 'revoke',
      operation: 'adminTrustKeyRevoke',
      summary: 'Revoke a key immediately',
      question: 'Revoke this key? Agents without a newer key are locked out.',
    }),
  ],
};
