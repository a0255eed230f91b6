/**
 * The inventory report of an agent, read from its host every minute: VMs, bundle leases, images, and where they disagree.
 * It lists what is there and not which allocation owns it: the control plane knows the claims and compares. The agent
 * sends a report when it changed, and every few minutes in any case, so that its age is meaningful.
 */
import Type from 'typebox';
import { Closed, HostTime, Nullable, StringEnum } from '../common.ts';
import { Id } from '../ids.ts';
import { CachedImage, Fact } from './facts.ts';

const Word = Type.String({ maxLength: 255 });

export const MACHINE_STATES = ['running', 'shut_off', 'paused', 'crashed'] as const;

export const HostVm = Closed({
  name: Word,
  /** From the tag in its definition; null for a machine without one. */
  allocation_id: Nullable(Word),
  is_managed: Type.Boolean({ description: 'It carries our tag under the name that goes with it.' }),
  state: StringEnum(MACHINE_STATES),
  /** Why it is off, where the hypervisor remembers: a shutdown by the guest OS, a stop on the host, or a crash. */
  ended_by: Nullable(StringEnum(['guest', 'host', 'crash'])),
  devices: Type.Array(Word, { maxItems: 256, description: 'PCI addresses, and serials or paths of disks.' }),
});

export const HeldLease = Closed({
  allocation_id: Id('allocation'),
  slot_ids: Type.Array(Id('slot'), { maxItems: 64 }),
  is_used: Type.Boolean({ description: 'Something of it may be on the host.' }),
  is_cleaning: Type.Boolean(),
  wanted: StringEnum(['on', 'off']),
});

export const HostDrift = Closed({
  code: Type.String({ pattern: '^[a-z0-9_]{1,64}$', description: 'Stable word, e.g. port_missing.' }),
  allocation_id: Nullable(Word),
  slot_id: Nullable(Word),
  message: Type.String({ maxLength: 500, description: 'For operators.' }),
});

export const Inventory = Closed({
  observed_at: HostTime('When it was looked at.'),
  boot_id: Type.String({ maxLength: 64 }),
  vms: Type.Array(HostVm, { maxItems: 500 }),
  leases: Type.Array(HeldLease, { maxItems: 200 }),
  drift: Type.Array(HostDrift, { maxItems: 500 }),
  /** Allocations of whom something is left that has neither lease nor machine: a port, a reservation, a seed. */
  leftovers: Type.Array(Word, { maxItems: 500 }),
  repaired: Type.Array(Type.String({ maxLength: 500 }), {
    maxItems: 200,
    description: 'What was put right, in words.',
  }),
  images: Fact(Type.Array(CachedImage, { maxItems: 500 })),
});
