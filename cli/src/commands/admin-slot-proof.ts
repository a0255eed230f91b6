/** The wipe proofs on record for a slot. */
import type { WipeProof } from '@gpuaas/sdk';
import { command } from '../command.ts';
import { nodeId, slotOf } from '../find.ts';
import { collect, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

const proofColumns: readonly Column<WipeProof>[] = [
  { header: '#', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'TIME', value: ({ created_at }) => shortTime(created_at) },
  { header: 'OUTCOME', value: ({ outcome }) => outcome },
  { header: 'METHOD', value: ({ method }) => method },
  { header: 'REASON', value: ({ evidence }) => reasonIn(evidence), shrink: 'wrap' },
  { header: 'ID', value: ({ id }) => id, optional: true },
  { header: 'ALLOCATION', value: ({ allocation_id }) => allocation_id, optional: true },
  { header: 'HASH', value: ({ proof_hash }) => proof_hash, shrink: 'cut', optional: true },
];
const reasonIn = ({ reason: stated }: WipeProof['evidence'] & { reason?: unknown }): string | null =>
  typeof stated === 'string' ? stated : null;

export const proofs = command({
  name: 'proofs',
  summary: 'List wipe proofs of a slot, newest first, including failed ones',
  args: { node: 'Name or ID', slot: 'Index or ID' },
  flags: pageFlags,
  run: async (cli, { args, flags }) => {
    const node_id = await nodeId(cli, args.node);
    const { id: slot_id } = await slotOf(cli, node_id, args.slot);
    const client = await cli.client();
    const read = (query: { limit: number; cursor: string | undefined }) =>
      client.adminNodeSlotProofList({ params: { node_id, slot_id }, query }, { signal: cli.signal });
    cli.out.list(await collect(flags, read), proofColumns);
  },
});
