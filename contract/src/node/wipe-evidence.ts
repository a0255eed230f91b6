/** The evidence of a cleanup: of each disk, resets of GPUs, and remains of the VM. */
import Type from 'typebox';
import { Closed, HostTime, Nullable, StringEnum } from '../common.ts';
import { PciAddress } from './facts.ts';
import { Count } from './task-shapes.ts';
import { IsolationEvidence, WipeLevelShape } from './wipe.ts';

export const DiskEvidence = Closed({
  slot_id: Nullable(Type.String()),
  serial: Type.String(),
  major_minor: Type.Optional(Type.String()),
  size_bytes: Count,
  generation: Nullable(Count),
  attempt: Type.Optional(Count),
  method: Type.String(),
  level: Type.Optional(WipeLevelShape),
  /** What the method did on this disk: it destroyed the key, erased the blocks, or discarded them. */
  erase: StringEnum(['crypto', 'block', 'discard']),
  command_status: Type.Integer(),
  /** How the read-back verified the wipe: blank, or after a cryptographic erase noise that was not there before. */
  rule: StringEnum(['blank', 'changed']),
  blocks_changed: Type.Optional(Count),
  bytes_read_back: Count,
  bytes_not_erased: Count,
  /** What was read back, as `read-back.ts` demands of a disk of this size. */
  samples: Type.Array(Closed({ offset: Count, length: Count, sha256: Type.String() })),
  signatures_left: Type.Array(Type.String()),
  is_verified: Type.Boolean(),
  started_at: HostTime('When the wipe began.'),
  finished_at: HostTime('When the read-back ended.'),
});
export const CleanupOutput = Closed({
  network_detached: Type.Boolean(),
  disks: Type.Array(DiskEvidence),
  /** Why a disk could not be wiped; the disk then has no evidence. */
  blocked: Type.Array(Closed({ serial: Type.String(), reason: Type.String() })),
  gpu_resets: Type.Array(
    Closed({
      gpu_pci_address: PciAddress,
      method: Type.String(),
      scope: Type.Array(PciAddress),
      is_ok: Type.Boolean(),
      reason: Type.Optional(Type.String({ description: 'Why it is not ok.' })),
    }),
  ),
  removed: Type.Array(Type.String({ description: 'Also removed: seed, lease, port, partition.' })),
  isolation: IsolationEvidence,
});
