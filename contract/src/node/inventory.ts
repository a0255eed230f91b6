/**
 * The inventory report of an agent, read from its host every minute: VMs, bundle leases, images, and where they disagree.
 * It lists what is there and not which allocation owns it: the control plane knows the claims and compares. The agent
 * sends a report when it changed, and every few minutes in any case, so that its age is meaningful.
 */
import Type from 'typebox';
import { Closed, HostTime, Nullable, StringEnum } from '../common.ts';
import { Id } from '../ids.ts';
import { CachedImage, Fact } from './facts.ts';

const ShortText = Type.String({ maxLength: 255 });

export const VM_STATES = ['running', 'shut_off', 'paused', 'crashed'] as const;

export const HostVm = Closed({
  name: ShortText,
  /** From the tag in its definition; null for a VM without one. */
  allocation_id: Nullable(ShortText),
  is_managed: Type.Boolean({ description: 'It has the tag of GPUaaS and the matching name.' }),
  state: StringEnum(VM_STATES),
  /** Why it is off, where the hypervisor remembers: a shutdown by the guest OS, a stop on the host, or a crash. */
  ended_by: Nullable(StringEnum(['guest', 'host', 'crash'])),
  devices: Type.Array(ShortText, { maxItems: 256, description: 'PCI addresses, and serials or paths of disks.' }),
});

export const BundleLease = Closed({
  allocation_id: Id('allocation'),
  slot_ids: Type.Array(Id('slot'), { maxItems: 64 }),
  is_used: Type.Boolean({ description: 'The host may hold state of it.' }),
  is_cleaning: Type.Boolean(),
  wanted: StringEnum(['on', 'off']),
});

export const HostDrift = Closed({
  code: Type.String({ pattern: '^[a-z0-9_]{1,64}$', description: 'Stable code, e.g. port_missing.' }),
  allocation_id: Nullable(ShortText),
  slot_id: Nullable(ShortText),
  message: Type.String({ maxLength: 500, description: 'For operators.' }),
});

export const Inventory = Closed({
  observed_at: HostTime('When the inventory was read.'),
  boot_id: Type.String({ maxLength: 64 }),
  vms: Type.Array(HostVm, { maxItems: 500 }),
  leases: Type.Array(BundleLease, { maxItems: 200 }),
  drift: Type.Array(HostDrift, { maxItems: 500 }),
  /** Allocations with neither bundle lease nor VM that left a port, a reservation or a seed. */
  leftovers: Type.Array(ShortText, { maxItems: 500 }),
  repaired: Type.Array(Type.String({ maxLength: 500 }), {
    maxItems: 200,
    description: 'Repairs made, as sentences.',
  }),
  images: Fact(Type.Array(CachedImage, { maxItems: 500 })),
});
