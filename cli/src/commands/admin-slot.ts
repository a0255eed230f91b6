/** Slots of a node. A change names the version that was read; an approval names the discovery it was read from. */
import { GpuaasError, type Slot, WIPE_METHODS } from '@gpuaas/sdk';
import { choice, command, type Group, required, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import { nodeId, slotOf } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import {
  blockerLines,
  type CandidateView,
  candidateColumns,
  differencesOf,
  readDiscovery,
} from './admin-node-topology.ts';
import { slotMap } from './admin-slot-map.ts';
import { proofs } from './admin-slot-proof.ts';
import { repair, stateOf } from './admin-slot-repair.ts';

const node = { node: 'Name or ID' } as const;
const oneSlot = { ...node, slot: 'Index or ID' } as const;
const reason = required(text('Reason, recorded in the audit log'));

const columns: readonly Column<Slot>[] = [
  { header: '#', value: ({ slot_index }) => slot_index, align: 'right' },
  { header: 'STATUS', value: ({ status }) => status },
  { header: 'APPROVAL', value: ({ approval }) => approval },
  { header: 'HEALTH', value: ({ health }) => health },
  { header: 'ALLOCATION', value: ({ allocation_id }) => allocation_id },
  { header: 'WIPED', value: ({ wiped_at }) => shortTime(wiped_at), optional: true },
  { header: 'OUTCOME', value: ({ wipe_outcome }) => wipe_outcome, optional: true },
  { header: 'GPU', value: ({ gpu_pci_address }) => gpu_pci_address, optional: true },
  { header: 'MODULE', value: ({ module_id }) => module_id, align: 'right', optional: true },
  { header: 'NUMA', value: ({ numa_node }) => numa_node, align: 'right', optional: true },
];

/** A slot that becomes free automatically needs no explanation; these do not. */
const NEEDS_OPERATOR: ReadonlySet<Slot['status']> = new Set(['cleanup_blocked', 'quarantined']);

export const slotList = command({
  name: 'list',
  summary: 'List slots of a node with their allocations',
  args: node,
  flags: pageFlags,
  run: async (cli, { args, flags }) => {
    const [client, params] = [await cli.client(), { node_id: await nodeId(cli, args.node) }];
    const read = (query: { limit: number; cursor: string | undefined }) =>
      client.adminNodeSlotList({ params, query }, { signal: cli.signal });
    const found = await collect(flags, read);
    cli.out.list(found, columns);
    if (cli.out.json) return;
    for (const { slot_index, status, status_reason, approval } of found.items) {
      if (status_reason !== null && NEEDS_OPERATOR.has(status))
        cli.out.say(`slot ${slot_index} is ${status}: ${status_reason}`);
      if (approval === 'needs_reapproval')
        cli.out.say(
          `slot ${slot_index} changed since approval. Show the changes: gpuaas admin node candidates ${args.node} --diff`,
        );
    }
  },
});

const show = command({
  name: 'show',
  summary: 'Show one slot',
  args: oneSlot,
  run: async (cli, { args }) => {
    const slot = await slotOf(cli, await nodeId(cli, args.node), args.slot);
    const { drift, health_detail, ...fields } = slot;
    const details = Object.entries(health_detail).filter(([name]) => name !== 'alerts');
    cli.out.item(slot, { ...fields, ...Object.fromEntries(details.map(([name, value]) => [`last ${name}`, value])) });
    if (cli.out.json || drift === null) return;
    for (const { field, approved, found } of differencesOf(drift))
      cli.out.print(`${field} changed: approved ${approved}, discovered ${found}`);
  },
});

const indexesFrom = (given: string): number[] =>
  given.split(',').map((word) => {
    if (!/^\d{1,2}$/.test(word)) throw new UsageError(`"${word}" is not the index of a slot.`, 'Use --slots 0,1');
    return Number(word);
  });

const chosen = (candidates: readonly CandidateView[], indexes: readonly number[] | undefined): CandidateView[] => {
  const missing = indexes?.filter((index) => !candidates.some(({ slot_index }) => slot_index === index)) ?? [];
  if (missing.length > 0) throw new UsageError(`The newest discovery has no candidate ${missing.join(', ')}.`);
  return candidates.filter(({ slot_index }) => indexes?.includes(slot_index) ?? true);
};

/** Prints what to check before the error is shown. */
const explainChanged = (cli: Cli, named: string) => (err: unknown) => {
  if (err instanceof GpuaasError && err.code === 'precondition_failed' && !cli.out.json)
    cli.out.say(`Nothing was approved: a newer discovery exists. Show it: gpuaas admin node candidates ${named}`);
  throw err;
};

const approve = command({
  name: 'approve',
  summary: 'Approve candidate slots of the newest discovery',
  args: node,
  flags: {
    all: toggle('All candidates'),
    slots: text('Only these, like 0,1', 'indexes'),
    'wipe-method': choice('Wipe method of their disks (default: proposed by the agent)', WIPE_METHODS),
    ...yesFlags,
    ...keyFlags,
  },
  examples: ['gpuaas admin slot approve j22u15 --all', 'gpuaas admin slot approve j22u15 --slots 0,1 --yes'],
  run: async (cli, { args, flags }) => {
    if ((flags.all === true) === (flags.slots !== undefined))
      throw new UsageError('Specify the slots.', 'Add --all or --slots 0,1.');
    const slot_indexes = flags.slots === undefined ? undefined : indexesFrom(flags.slots);
    const node_id = await nodeId(cli, args.node);
    const { map } = await readDiscovery(cli, node_id);
    if (map === null) throw new CliError('conflict', 'This node has no discovery yet. Run discovery first.');
    const candidates = chosen(map.candidates, slot_indexes);
    if (!cli.out.json) cli.out.table(candidates, candidateColumns);
    const blockers = blockerLines(candidates);
    if (blockers.length > 0) {
      if (!cli.out.json) cli.out.points('Blockers of approval:', blockers);
      throw new CliError(
        'conflict',
        'Resolve the blockers first.',
        'Then run discovery again, or select other slots with --slots.',
      );
    }
    const count = candidates.length === 1 ? '1 slot' : `${candidates.length} slots`;
    await cli.confirm(`Approve ${count} of ${args.node}? Their disks are wiped now and after each use.`, flags.yes);
    const body = { map_hash: map.map_hash, slot_indexes, wipe_method: flags.wipeMethod };
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const client = await cli.client();
    const response = await client
      .call('adminNodeSlotApprove', { params: { node_id }, body }, options)
      .catch(explainChanged(cli, args.node));
    const { slots } = response.data;
    const indexes = slots.map(({ slot_index }) => slot_index).join(', ');
    cli.out.done(
      slots.length === 0
        ? 'They were already approved. No changes were made.'
        : `Approved: ${slots.length === 1 ? 'slot' : 'slots'} ${indexes}.`,
      response,
    );
  },
});

type Move = Readonly<{
  name: string;
  operation: 'adminNodeSlotDisable' | 'adminNodeSlotEnable' | 'adminNodeSlotQuarantine';
  summary: string;
}>;

const moveCommand = ({ name, operation, summary }: Move) =>
  command({
    name,
    summary,
    args: oneSlot,
    flags: { reason, ...ifMatchFlags, ...keyFlags },
    run: async (cli, { args, flags }) => {
      const node_id = await nodeId(cli, args.node);
      const slot = await slotOf(cli, node_id, args.slot);
      const options = {
        idempotencyKey: flags.idempotencyKey,
        ifMatch: flags.ifMatch ?? slot.version,
        signal: cli.signal,
      };
      const request = { params: { node_id, slot_id: slot.id }, body: { reason: flags.reason } };
      const response = await (await cli.client()).call(operation, request, options);
      cli.out.done(stateOf(response.data), response);
    },
  });

const markWiped = command({
  name: 'mark-wiped',
  summary: 'Accept a wipe without proof; requires a second operator',
  args: oneSlot,
  flags: { reason, ...yesFlags, ...keyFlags },
  run: async (cli, { args, flags }) => {
    const node_id = await nodeId(cli, args.node);
    const slot = await slotOf(cli, node_id, args.slot);
    await cli.confirm(
      `Confirm that slot ${slot.slot_index} of ${args.node} has no data of its last tenant?`,
      flags.yes,
    );
    const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
    const request = { params: { node_id, slot_id: slot.id }, body: { reason: flags.reason } };
    const response = await (await cli.client()).call('adminNodeSlotMarkWiped', request, options);
    const { override, slot: after } = response.data;
    const sentence =
      override.confirmed_at === null
        ? `Requested. Another operator must run the same command before ${shortTime(override.expires_at)}.`
        : `Confirmed. ${stateOf(after)}`;
    cli.out.done(sentence, response);
  },
});

export const adminSlot: Group = {
  name: 'slot',
  summary: 'Approve, disable, quarantine and repair slots',
  commands: [
    slotMap,
    slotList,
    show,
    proofs,
    approve,
    moveCommand({
      name: 'disable',
      operation: 'adminNodeSlotDisable',
      summary: 'Make a slot unschedulable; its allocation continues',
    }),
    moveCommand({
      name: 'enable',
      operation: 'adminNodeSlotEnable',
      summary: 'Make a disabled slot schedulable, if its hardware is as approved',
    }),
    moveCommand({
      name: 'quarantine',
      operation: 'adminNodeSlotQuarantine',
      summary: 'Make a free slot unschedulable until it is repaired',
    }),
    repair,
    markWiped,
  ],
};
