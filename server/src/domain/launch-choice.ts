/**
 * Storage and network of a launch: what is offered for a shape and a GPU count, and why not. An estimate lists it, a
 * launch is checked by it, and the first available choice is the default. The first disk of a slice is its boot disk, so
 * one GPU has no data disk; bare metal keeps the operating system and the network of its node.
 */
import {
  DATA_DISK_DIRECTORY,
  NETWORK_KINDS,
  type NetworkKind,
  STORAGE_KINDS,
  type StorageKind,
} from '@gpuaas/contract';

type Launched = Readonly<{ capacity_shape: 'baremetal' | 'gpu_slice'; gpu_count: number }>;
type Offer = Readonly<{
  label: string;
  description(launched: Launched): string;
  /** Null where it is available. */
  reason(launched: Launched): string | null;
}>;
export type Choice<Name extends string> = Readonly<{
  name: Name;
  label: string;
  description: string;
  available: boolean;
  reason: string | null;
}>;
export type LaunchChoices = Readonly<{ storage: Choice<StorageKind>[]; network: Choice<NetworkKind>[] }>;

const WIPED = 'Wiped at release, with a wipe certificate.';

const STORAGE: Readonly<Record<StorageKind, Offer>> = {
  raw: {
    label: 'Raw data disks',
    description: ({ capacity_shape }) =>
      capacity_shape === 'baremetal'
        ? `Blank block devices: the approved disks of the node. ${WIPED}`
        : `Blank block devices, one for each GPU after the first. ${WIPED}`,
    reason: () => null,
  },
  formatted: {
    label: 'Formatted data disks',
    description: () => `With ext4, mounted at ${DATA_DISK_DIRECTORY}/1, ${DATA_DISK_DIRECTORY}/2 and so on. ${WIPED}`,
    reason: ({ capacity_shape, gpu_count }) => {
      if (capacity_shape === 'baremetal')
        return 'Bare metal keeps the operating system of its node. Format its data disks after you sign in.';
      return gpu_count > 1 ? null : 'A slice of 1 GPU has only its boot disk. Larger slices have data disks.';
    },
  },
};

const NETWORK: Readonly<Record<NetworkKind, Offer>> = {
  private_nat: {
    label: 'Private, behind NAT',
    description: () => 'Outbound internet access. Inbound by gpuaas ssh, gpuaas forward and browser terminal.',
    reason: ({ capacity_shape }) =>
      capacity_shape === 'baremetal' ? 'Bare metal uses the network of its node.' : null,
  },
};

const choicesOf = <Name extends string>(
  names: readonly Name[],
  offers: Readonly<Record<Name, Offer>>,
  launched: Launched,
): Choice<Name>[] =>
  names.map((name) => {
    const { label, description, reason: reasonFor } = offers[name];
    const reason = reasonFor(launched);
    return { name, label, description: description(launched), available: reason === null, reason };
  });

export const launchChoices = (launched: Launched): LaunchChoices => ({
  storage: choicesOf(STORAGE_KINDS, STORAGE, launched),
  network: choicesOf(NETWORK_KINDS, NETWORK, launched),
});

/** The choice by name, or else the first available one, or `none`. One that is not available returns its reason. */
export const choose = <Name extends string, None>(
  choices: readonly Choice<Name>[],
  name: Name | null,
  none: None,
): Readonly<{ name: Name | None } | { reason: string }> => {
  const found = choices.find((choice) => (name === null ? choice.available : choice.name === name));
  if (found === undefined) return { name: none };
  return found.reason === null ? { name: found.name } : { reason: found.reason };
};

/** As launched; slices of a release without the choice have none stored. */
export const networkOf = (
  row: Readonly<{ capacity_shape: 'baremetal' | 'gpu_slice'; network: NetworkKind | null }>,
): NetworkKind | null => (row.capacity_shape === 'gpu_slice' ? (row.network ?? 'private_nat') : null);
