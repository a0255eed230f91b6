/** Slots grouped by NUMA node, then by the PCIe switch above the GPU, as far as discovery knows them. */
import type { Slot } from '@gpuaas/sdk';
import type { Topology } from './topology.ts';

export type SlotGroup<T> = Readonly<{
  numa: number | null;
  switches: readonly Readonly<{ port: string | null; slots: readonly T[] }>[];
}>;

type Placed = Pick<Slot, 'slot_index' | 'numa_node' | 'gpu_pci_address'>;

/** The switch above a GPU. */
export const portsOf = ({ numaNodes }: Topology): ReadonlyMap<string, string> =>
  new Map(
    numaNodes.flatMap(({ switches }) =>
      switches.flatMap(({ port, devices }) =>
        port === null ? [] : devices.map(({ address }) => [address, port] as const),
      ),
    ),
  );

export const groupSlots = <T extends Placed>(
  slots: readonly T[],
  ports: ReadonlyMap<string, string>,
): readonly SlotGroup<T>[] => {
  const ordered = slots.toSorted((a, b) => a.slot_index - b.slot_index);
  const portOf = ({ gpu_pci_address }: T): string | null => ports.get(gpu_pci_address ?? '') ?? null;
  return [...Map.groupBy(ordered, ({ numa_node }) => numa_node)]
    .sort(([a], [b]) => (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY))
    .map(([numa, inNode]) => ({
      numa,
      switches: [...Map.groupBy(inNode, portOf)].map(([port, under]) => ({ port, slots: under })),
    }));
};
