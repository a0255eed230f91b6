/** A host's evidence of wiped disks: the minimum of the contract, and nothing missing. */
import { type DiskEvidence, type Isolation, readBackFloor, type TaskOutput } from '@gpuaas/contract/node';
import { DISK_BYTES } from './candidate.ts';

type Named = Readonly<{
  slot_id: string | null;
  serial: string | null;
  generation: number | null;
  size_bytes?: number | null;
}>;

export const provenDisk = (disk: Named, given: Partial<DiskEvidence> = {}): DiskEvidence => {
  const { slot_id, serial, generation } = disk;
  const size_bytes = given.size_bytes ?? disk.size_bytes ?? DISK_BYTES;
  const samples = readBackFloor(size_bytes).map(({ offset, bytes }) => ({
    offset,
    length: bytes,
    sha256: '0'.repeat(64),
  }));
  return {
    slot_id,
    serial: serial ?? '',
    generation,
    method: 'nvme_sanitize',
    erase: 'block',
    rule: 'blank',
    command_status: 0,
    size_bytes,
    bytes_read_back: samples.reduce((sum, { length }) => sum + length, 0),
    bytes_not_erased: 0,
    samples,
    signatures_left: [],
    is_verified: true,
    started_at: '2026-01-01T00:00:00Z',
    finished_at: new Date().toISOString(),
    ...given,
  };
};

export const isolated = (fabric_vfs: readonly string[] = []): Isolation => ({
  network: {
    is_port_removed: true,
    is_reservation_removed: true,
    is_lease_removed: true,
    is_translation_removed: true,
  },
  is_vm_removed: true,
  is_seed_removed: true,
  partitions: [],
  fabric_functions: fabric_vfs.map((fabric_vf_pci_address) => ({
    fabric_vf_pci_address,
    method: 'flr',
    is_cleared: true,
  })),
});

export const gpuReset = (gpu_pci_address: string | null, is_ok = true) => ({
  gpu_pci_address: gpu_pci_address ?? '',
  method: 'flr',
  scope: [],
  is_ok,
});

export const cleanedUp = (
  disks: readonly DiskEvidence[],
  given: Partial<TaskOutput<'slice.cleanup'>> = {},
): TaskOutput<'slice.cleanup'> => ({
  network_detached: true,
  disks: [...disks],
  blocked: [],
  gpu_resets: [],
  removed: [],
  isolation: isolated(),
  ...given,
});
