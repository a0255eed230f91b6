/**
 * A disk or GPU that was approved, enabled or wiped in one place is no longer where it was before. Proofs of other slots
 * end, and a data disk of another node is none any more.
 */
import type { Tx } from '../db/client.ts';
import { revokeDisksElsewhere } from '../db/disk-ownership.ts';
import { removeDataDisk } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { endProofsElsewhere, listNodesElsewhere, type PlacedDevice } from '../db/slot-approval.ts';
import { REASONS } from '../domain/reasons.ts';
import { refreshSummary } from '../placement/summary.ts';

/** A disk that belongs to no slot of its node. */
export const dataDisk = ({ serial }: Readonly<{ serial: string }>): PlacedDevice[] => [
  { id: null, nvme_serial: serial, gpu_uuid: null },
];

/** The caller has locked the index row of the node. */
export const endElsewhere = async (tx: Tx, nodeId: string, devices: readonly PlacedDevice[]): Promise<void> => {
  const others = (await listNodesElsewhere(tx, devices)).filter((id) => id !== nodeId);
  for (const id of others) await lockSummary(tx, id);
  await endProofsElsewhere(tx, devices);
  const serials = devices.flatMap(({ nvme_serial }) => nvme_serial ?? []);
  for (const { node_id, serial } of await revokeDisksElsewhere(tx, others, serials, REASONS.disk_moved))
    await removeDataDisk(tx, node_id, serial);
  for (const id of others) await refreshSummary(tx, id);
};
