import { type AdminAllocation, ALLOCATION_STATES, type ApiResponse, type Slot } from '@gpuaas/sdk';
import { choice, command, type Group, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../exit.ts';
import { nodeId } from '../find.ts';
import { collect, keyFlags, pageFlags, waitFlags, yesFlags } from '../flags.ts';
import { shortTime } from '../table.ts';
import { allocationFields } from './allocation-view.ts';
import { finish } from './allocation-wait.ts';

const allocation = { allocation: 'ID' } as const;
const changeFlags = {
  reason: required(text('Reason, recorded in the audit log')),
  ...waitFlags,
  ...yesFlags,
  ...keyFlags,
} as const;

/** Cleanup is complete when its proof has released the allocation. */
const finishRelease = (
  cli: Cli,
  response: ApiResponse<AdminAllocation>,
  flags: { wait: boolean | undefined; timeout: number | undefined },
  sentence: string,
): Promise<void> => {
  const { id } = response.data.allocation;
  let latest = response.data;
  return finish(cli, response, {
    id,
    goal: 'released',
    timeout: flags.timeout,
    read: async () => {
      const client = await cli.client();
      latest = await client.adminAllocationGet({ params: { allocation_id: id } }, { signal: cli.signal });
      return latest.allocation;
    },
    resume: ['admin', 'allocation', 'get', id],
    timeline: ['admin', 'workflow-run', 'list', '--subject', id],
    sentence,
    wait: flags.wait,
    dataOf: () => latest,
  });
};

type SlotBehindHost = Slot & Readonly<{ host_generation: number }>;

/** Slots that it holds and whose host has seen a later claim. Read first, so that the user confirms what was shown. */
const slotsBehindHost = async (cli: Cli, allocation_id: string): Promise<readonly SlotBehindHost[]> => {
  const client = await cli.client();
  const { node_id, allocation } = await client.adminAllocationGet(
    { params: { allocation_id } },
    { signal: cli.signal },
  );
  if (node_id === null) throw new CliError('conflict', 'The allocation has no node.');
  const { items } = await client.adminNodeSlotList(
    { params: { node_id }, query: { limit: 100 } },
    { signal: cli.signal },
  );
  const isBehindHost = (slot: Slot): slot is SlotBehindHost =>
    slot.allocation_id === allocation_id && slot.host_generation !== null;
  const found = items.filter(isBehindHost);
  if (found.length === 0 && allocation.capacity_shape !== 'baremetal')
    throw new CliError('conflict', 'The agent has not reported a newer slot generation.');
  return found;
};

const adoptionQuestion = (id: string, slots: readonly SlotBehindHost[]): string => {
  const claims = slots.map(
    ({ slot_index, generation, host_generation }) =>
      `slot ${slot_index}: ${generation} in the database, ${host_generation} on the host`,
  );
  if (claims.length === 0)
    return `The host of ${id} may have newer claims than the database. Wipe the disks of the node?`;
  return `The host of ${id} has newer claims than the database (${claims.join('; ')}). Wipe their data?`;
};

const confirmed = ({ id, host_generation }: SlotBehindHost) => ({ slot_id: id, host_generation });

export const adminAllocation: Group = {
  name: 'allocation',
  summary: 'Manage allocations of all organizations',
  commands: [
    command({
      name: 'list',
      summary: 'List allocations of all organizations, newest first',
      flags: {
        state: choice('Only this state', ALLOCATION_STATES),
        node: text('Only on this node, by name or ID', 'node'),
        'in-organization': text('Only this organization', 'id'),
        ...pageFlags,
      },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const node_id = flags.node === undefined ? undefined : await nodeId(cli, flags.node);
        const filter = { state: flags.state, node_id, organization_id: flags.inOrganization };
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminAllocationList({ query: { ...page, ...filter } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ID', value: ({ allocation: { id } }) => id },
          { header: 'STATE', value: ({ allocation: { state } }) => state },
          { header: 'GPUS', value: ({ allocation: { gpu_count } }) => gpu_count, align: 'right' },
          { header: 'NODE', value: ({ node_id: node }) => node },
          { header: 'ORGANIZATION', value: ({ organization_id }) => organization_id, optional: true },
          { header: 'NAME', value: ({ allocation: { name } }) => name, optional: true },
          {
            header: 'REASON',
            value: ({ allocation: { state_reason } }) => state_reason,
            shrink: 'wrap',
            optional: true,
          },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one allocation with its placement and claims',
      args: allocation,
      run: async (cli, { args }) => {
        const params = { allocation_id: args.allocation };
        const found = await (await cli.client()).adminAllocationGet({ params }, { signal: cli.signal });
        cli.out.item(found, {
          ...allocationFields(found.allocation, Date.now(), { isOwn: false }),
          organization: found.organization_id,
          project: found.allocation.project_id,
          node: found.node_id,
        });
        if (cli.out.json || found.claims.length === 0) return;
        cli.out.print('');
        cli.out.table(found.claims, [
          { header: 'CLAIM', value: ({ id }) => id },
          { header: 'KIND', value: ({ claim_kind }) => claim_kind },
          { header: 'GPUS', value: ({ gpu_count }) => gpu_count, align: 'right' },
          { header: 'RELEASED', value: ({ released_at }) => shortTime(released_at) },
          { header: 'SLOT', value: ({ slot_id }) => slot_id, optional: true },
          { header: 'WIPE PROOF', value: ({ wipe_proof_id }) => wipe_proof_id, optional: true },
        ]);
      },
    }),
    command({
      name: 'force-release',
      summary: 'Release for the organization, even if protected',
      args: allocation,
      flags: {
        'charge-until': text(
          'After a restored backup: when the host ended it, like 2026-05-01T00:00:00Z (default: now)',
          'time',
        ),
        ...changeFlags,
      },
      run: async (cli, { args, flags }) => {
        await cli.confirm(`Release ${args.allocation} for its organization? Its data is wiped.`, flags.yes);
        const params = { allocation_id: args.allocation };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const { reason, chargeUntil: charge_until } = flags;
        const request = { params, body: { reason, ...(charge_until === undefined ? {} : { charge_until }) } };
        const response = await (await cli.client()).call('adminAllocationForceRelease', request, options);
        await finishRelease(cli, response, flags, `Releasing ${args.allocation}.`);
      },
    }),
    command({
      name: 'force-cleanup',
      summary: 'Retry a blocked cleanup; slots become schedulable only with a wipe proof',
      args: allocation,
      flags: {
        'runtime-verified-absent': toggle('Skip stopping the VM: you verified that it is gone'),
        'adopt-host-generation': toggle('After a restored backup: adopt the slot generations of the host'),
        ...changeFlags,
      },
      run: async (cli, { args, flags }) => {
        const behind = flags.adoptHostGeneration === true ? await slotsBehindHost(cli, args.allocation) : undefined;
        if (behind === undefined) await cli.confirm(`Retry cleanup of ${args.allocation}?`, flags.yes);
        else await cli.confirm(adoptionQuestion(args.allocation, behind), flags.yes);
        const params = { allocation_id: args.allocation };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const body = {
          reason: flags.reason,
          runtime_verified_absent: flags.runtimeVerifiedAbsent === true,
          ...(behind === undefined ? {} : { adopted_generations: behind.map(confirmed) }),
        };
        const response = await (await cli.client()).call('adminAllocationForceCleanup', { params, body }, options);
        await finishRelease(cli, response, flags, `Retrying cleanup of ${args.allocation}.`);
      },
    }),
  ],
};
