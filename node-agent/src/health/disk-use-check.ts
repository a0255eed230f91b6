/**
 * A disk of a slot that the host uses although no allocation has it: mounted, swap, held, partitioned or formatted after
 * discovery found it unused. The slot could neither be launched on nor wiped, so it becomes unschedulable until the disk
 * is free. What tenants do with the disks of their allocations is their use, also until the wipe after it.
 */
import type { DiskFacts } from '@gpuaas/contract/node';
import { inUse } from '../tasks/bundle-slot.ts';
import { factOf } from '../topology/read.ts';
import { type Checked, type Expectation, type HealthFacts, type Held, PREVENT } from './alert.ts';

type DiskExpectation = Pick<Expectation, 'unused_disks' | 'tenant_disks'>;

const usesOf = (disk: DiskFacts): readonly string[] => [
  ...inUse(disk),
  ...[...disk.filesystems, ...disk.partitions.map((one) => `partition ${one}`)].map((one) => `it carries ${one}`),
];

const isHeld = (serial: string, held: Held): boolean => held.is_whole || held.disk_serials.includes(serial);

type Seen = Readonly<{ serial: string; uses: readonly string[]; is_held: boolean }>;

/** Null while it is unknown which disks are used, or which allocations have them: nothing follows from it. */
const seenDisks = (facts: Pick<HealthFacts, 'disks' | 'held'>): readonly Seen[] | null => {
  const [disks, held] = [factOf(facts.disks), factOf(facts.held)];
  if (disks === null || held === null) return null;
  return disks.flatMap((disk) =>
    disk.serial === null ? [] : [{ serial: disk.serial, uses: usesOf(disk), is_held: isHeld(disk.serial, held) }],
  );
};

/** Disks that are unused now; those of allocations were so when their slots were approved. */
export const unusedDisks = (facts: Pick<HealthFacts, 'disks' | 'held'>): readonly string[] =>
  (seenDisks(facts) ?? []).filter(({ uses, is_held }) => uses.length === 0 || is_held).map(({ serial }) => serial);

/** A use that begins under an allocation is not the host's, until the disk was seen unused again. */
export const tenantDisks = (facts: HealthFacts, before: DiskExpectation): readonly string[] => {
  const seen = seenDisks(facts) ?? [];
  const used = seen.filter(({ uses, is_held }) => uses.length > 0 && is_held).map(({ serial }) => serial);
  const free = new Set(seen.filter(({ uses }) => uses.length === 0).map(({ serial }) => serial));
  return [...new Set([...before.tenant_disks, ...used])].filter((serial) => !free.has(serial)).toSorted();
};

export const checkDiskUse = (facts: HealthFacts, expectation: DiskExpectation): Checked => {
  const ofTenants = tenantDisks(facts, expectation);
  return {
    name: 'disks_unused',
    found: (seenDisks(facts) ?? [])
      .filter(({ serial, uses }) => uses.length > 0 && expectation.unused_disks.includes(serial))
      .filter(({ serial, is_held }) => !is_held && !ofTenants.includes(serial))
      .map(({ serial, uses }) => ({
        id: 'disk_in_use',
        target: serial,
        message: `The host uses disk ${serial} of a slot: ${uses.join(', ')}. Free it: the agent never unmounts. Until then its slot is unschedulable.`,
        tenant_message: null,
        classifications: [...PREVENT],
      })),
  };
};
