/**
 * The level of a wipe, and the other evidence of a cleanup. Levels are those of NIST SP 800-88r2: `purge` withstands a
 * laboratory, `clear` withstands reads through the disk's own interface. The disk itself executes a sanitize and an
 * erasing format, which reach its hidden areas; a discard with read-back only clears. A minimum is one of these levels,
 * never a method, because disks support different methods.
 */
import Type, { type Static } from 'typebox';
import { Closed, StringEnum } from '../common.ts';
import type { WipeMethod } from './candidate.ts';
import { PciAddress } from './facts.ts';

/** How long an agent works on one cleanup. A sanitize of a large disk without crypto erase takes hours. */
export const CLEANUP_LIMIT_S = 12 * 3_600;

/** Weakest first. */
export const WIPE_LEVELS = ['clear', 'purge'] as const;
export type WipeLevel = (typeof WIPE_LEVELS)[number];

const LEVELS: Readonly<Record<WipeMethod, WipeLevel>> = {
  nvme_sanitize: 'purge',
  nvme_format: 'purge',
  blkdiscard: 'clear',
};

/** Null for an unknown method: a two-person override has no level. */
export const wipeLevelOf = (method: string): WipeLevel | null =>
  Object.hasOwn(LEVELS, method) ? LEVELS[method as keyof typeof LEVELS] : null;

export const meetsLevel = (level: WipeLevel | null, minimum: WipeLevel): boolean =>
  level !== null && WIPE_LEVELS.indexOf(level) >= WIPE_LEVELS.indexOf(minimum);

const Look = (what: string) => Type.Boolean({ description: `Whether the check after cleanup found ${what}.` });

/** Result of the check after the cleanup. True means that it is gone. */
export const IsolationEvidence = Closed({
  network: Closed({
    is_port_removed: Look('no switch port of the VM'),
    is_reservation_removed: Look('no address reservation'),
    is_lease_removed: Look('no DHCP lease'),
    is_translation_removed: Look('no NAT rule of the VM'),
  }),
  is_vm_removed: Look('no VM definition'),
  is_seed_removed: Look('no seed with keys and user data'),
  partitions: Type.Array(
    Closed({ partition_id: Type.Integer(), is_deactivated: Look('the fabric partition inactive') }),
  ),
  /** That a reset clears the guest's data from a function is guaranteed by its card and not verified here. */
  fabric_functions: Type.Array(
    Closed({
      fabric_vf_pci_address: PciAddress,
      method: Type.String(),
      is_cleared: Type.Boolean({ description: 'Whether it was reset and responded afterwards.' }),
      observed: Type.Optional(Type.String({ description: 'What was checked after the reset, and what was not.' })),
      reason: Type.Optional(Type.String({ description: 'Why the reset failed.' })),
    }),
  ),
});
export type Isolation = Static<typeof IsolationEvidence>;
export const WipeLevelShape = StringEnum(WIPE_LEVELS);
