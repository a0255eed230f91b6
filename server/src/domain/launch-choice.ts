/**
 * Storage and network of a launch: what is offered for a shape and a GPU count, and why not. An estimate lists it, a
 * launch is checked by it, and the first available choice is the default. The first disk of a slice is its boot disk, so
 * one GPU has no data disk; bare metal keeps the operating system and the network of its node. The fabric network of a
 * project is listed with the reason of the region's fabric provider: none connects it yet.
 */
import {
  DATA_DISK_DIRECTORY,
  FABRIC_PROVIDERS,
  type FabricIsolation,
  NETWORK_CHOICES,
  NETWORK_KINDS,
  type NetworkChoice,
  type NetworkKind,
  STORAGE_KINDS,
  type StorageKind,
} from '@gpuaas/contract';

type Launched = Readonly<{
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpu_count: number;
  fabric_isolation: FabricIsolation;
}>;
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
export type LaunchChoices = Readonly<{ storage: Choice<StorageKind>[]; network: Choice<NetworkChoice>[] }>;

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

const NODE_NETWORK = 'Bare metal uses the network of its node.';

const NETWORK: Readonly<Record<NetworkChoice, Offer>> = {
  private_nat: {
    label: 'Private, behind NAT',
    description: () => 'Outbound internet access. Inbound by gpuaas ssh, gpuaas forward and browser terminal.',
    reason: ({ capacity_shape }) => (capacity_shape === 'baremetal' ? NODE_NETWORK : null),
  },
  fabric: {
    label: 'Fabric network of the project',
    description: () =>
      'Slices of the project in the region reach each other over the fabric, beside the private network.',
    reason: ({ capacity_shape, fabric_isolation }) =>
      capacity_shape === 'baremetal' ? NODE_NETWORK : FABRIC_PROVIDERS[fabric_isolation].refusal,
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
  network: choicesOf(NETWORK_CHOICES, NETWORK, launched),
});

/**
 * The choice by name, or else the first available one, or `none`. One that is not available returns its reason. One that
 * is available although no launch carries it out is an error, and never another choice.
 */
const choose = <Kind extends string, None>(
  given: Readonly<{ choices: readonly Choice<string>[]; kinds: readonly Kind[]; none: None }>,
  name: string | null,
): Readonly<{ name: Kind | None } | { reason: string }> => {
  const found = given.choices.find((choice) => (name === null ? choice.available : choice.name === name));
  if (found !== undefined && found.reason !== null) return { reason: found.reason };
  if (found === undefined) return { name: given.none };
  const kind = given.kinds.find((one) => one === found.name);
  if (kind === undefined)
    throw new Error(`No launch carries out the choice ${found.name}, which is listed as available.`);
  return { name: kind };
};

export const chooseStorage = ({ storage: choices }: LaunchChoices, name: StorageKind | null) =>
  choose({ choices, kinds: STORAGE_KINDS, none: 'raw' as const }, name);
export const chooseNetwork = ({ network: choices }: LaunchChoices, name: NetworkChoice | null) =>
  choose({ choices, kinds: NETWORK_KINDS, none: null }, name);

/** As launched; slices of a release without the choice have none stored. */
export const networkOf = (
  row: Readonly<{ capacity_shape: 'baremetal' | 'gpu_slice'; network: NetworkKind | null }>,
): NetworkKind | null => (row.capacity_shape === 'gpu_slice' ? (row.network ?? 'private_nat') : null);
