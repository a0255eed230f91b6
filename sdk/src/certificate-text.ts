/** A wipe certificate in words, for every program that shows one. */
import type { WipeCertificate } from './api.gen.ts';

type Disk = WipeCertificate['disks'][number];

const ERASES: Readonly<Record<NonNullable<Disk['erase']>, string>> = {
  crypto: 'cryptographic erase',
  block: 'block erase',
  discard: 'discard',
};
const NOT_RESET = 'not reset; unschedulable until reset';

const removal = (isRemoved: boolean): string => (isRemoved ? 'removed' : 'removal not verified');

const OVERRIDDEN = 'wipe accepted by two operators without proof';
const OUTCOMES: Readonly<Record<Disk['outcome'], string>> = { verified: 'wipe verified', overridden: OVERRIDDEN };

export const certificateText = {
  outcome: ({ outcome }: Disk): string => OUTCOMES[outcome],
  before: ({ outcome_before }: Disk): string =>
    outcome_before === null ? 'no wipe on record' : OUTCOMES[outcome_before],
  method: ({ method, erase, level }: Disk): string =>
    [method, erase === null ? null : ERASES[erase], level === null ? null : `NIST ${level}`]
      .filter((part) => part !== null)
      .join(', '),
  /** Null where the certificate states nothing about other disks: of a slice, or of an earlier release. */
  unwiped: ({ unwiped_disks: count }: Pick<WipeCertificate, 'unwiped_disks'>): string | null => {
    if (typeof count !== 'number') return null;
    if (count === 0) return 'none';
    const disks = count === 1 ? '1 disk; its' : `${count} disks; their`;
    return `${disks} data stays readable for later tenants of the host`;
  },
  rule: ({ rule }: Disk): string | null => (rule === 'changed' ? 'random data, other than before the wipe' : rule),
  gpu: ({ gpu_reset }: Disk): string => {
    if (gpu_reset === null) return 'no reset recorded';
    return gpu_reset.is_ok ? `reset (${gpu_reset.method})` : NOT_RESET;
  },
  fabric: ({ fabric_function: fabric }: Disk): string => {
    if (fabric === null) return 'no reset recorded';
    return fabric.is_cleared ? `reset (${fabric.method})` : NOT_RESET;
  },
  /** The parts removed from the host besides the data, by name. */
  isolation: (found: NonNullable<WipeCertificate['isolation']>): Readonly<Record<string, string>> => ({
    'network port': removal(found.is_port_removed),
    'DHCP reservation': removal(found.is_reservation_removed),
    'DHCP lease': removal(found.is_lease_removed),
    'NAT rules': removal(found.is_translation_removed),
    'VM definition': removal(found.is_vm_removed),
    'cloud-init seed': removal(found.is_seed_removed),
    'fabric partitions': `${found.partitions_deactivated} deactivated`,
  }),
};
