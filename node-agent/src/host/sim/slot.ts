/** The slots of a simulated host, and every name by which an operation can address one. */
import { hardwareOf } from './hardware.ts';
import { serialOf } from './identity.ts';
import type { Profile } from './profile-shape.ts';

export type SimSlot = Readonly<{
  index: number;
  gpu: string;
  module_id: number | null;
  nvme: string;
  serial: string;
  nic: string;
  /** The first virtual function of the slot's card. */
  vf: string;
}>;

/** In the order of the GPUs' addresses, as discovery counts them. */
export const slotsOf = (profile: Profile, host: string): readonly SimSlot[] =>
  profile.slots.map((place, index) => ({
    index,
    gpu: place.gpu,
    module_id: place.module_id,
    nvme: place.nvme,
    serial: serialOf(profile.drive.serial_prefix, host, index),
    nic: place.nic,
    vf: hardwareOf(profile).byAddress.get(place.nic)?.virtual_functions[0] ?? place.nic,
  }));

const namesOf = (profile: Profile, slot: SimSlot): ReadonlySet<string> =>
  new Set([
    slot.gpu,
    slot.nvme,
    slot.serial,
    slot.nic,
    ...(hardwareOf(profile).byAddress.get(slot.nic)?.virtual_functions ?? []),
  ]);

type Place = Readonly<{ profile: Profile; slots: readonly SimSlot[] }>;
type Filter = Readonly<{ slot?: number; serial?: string; address?: string }>;

/** Whether a rule is for any of these names. A rule without a filter is for all. */
export const isMeant = ({ profile, slots }: Place, rule: Filter, touched: readonly string[]): boolean => {
  if (rule.serial !== undefined && !touched.includes(rule.serial)) return false;
  if (rule.address !== undefined && !touched.includes(rule.address)) return false;
  if (rule.slot === undefined) return true;
  const slot = slots[rule.slot];
  if (slot === undefined) return false;
  const names = namesOf(profile, slot);
  return touched.some((touch) => names.has(touch));
};

/** Every text in a value, so that a task touches whatever its params name. */
export const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
};
