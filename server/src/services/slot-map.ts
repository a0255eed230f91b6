/** The fleet map: every node with its slots as tiles, for operators who locate faults. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { listSlotMap, type SlotMapNode, type SlotTileRow } from '../db/slot-map.ts';
import { listPage } from '../pipeline/page.ts';

const timeOf = (text: string): string => new Date(text).toISOString();

const tile = (slot: SlotTileRow): SlotTileRow => ({
  ...slot,
  status_since: timeOf(slot.status_since),
  wiped_at: slot.wiped_at === null ? null : timeOf(slot.wiped_at),
});

export const list = (ctx: ReadCtx, { query }: RequestOf<PublicApi['adminSlotMapList']>) =>
  listPage(
    ctx,
    query,
    (reader, page) => listSlotMap(reader, { ...page, region_name: query.region_name ?? null }),
    ({ name }) => name,
    (row: SlotMapNode) => ({ ...row, slots: row.slots.map(tile) }),
  );
