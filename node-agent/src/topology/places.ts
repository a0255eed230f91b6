/**
 * Where slots are. A GPU, a disk and a network card belong together because they share a PCIe switch; bus order and
 * disk size mean nothing (on the same board the card comes before the GPU under one switch and after it under the
 * next). Under a switch with several of each, address order only makes the choice deterministic.
 *
 * A switch with disk and card but without the GPU of its siblings is a place too: its GPU is missing, and the numbers
 * of the other slots must not shift.
 */
import type { DiskFacts, NicFacts, PciFunction } from '@gpuaas/contract/node';
import { idOf, isAccelerator, isBridge, isFabricCard, isInfiniband, isNvme, isWholeFabric } from './kinds.ts';
import { byAddress, compareAddress, deviceOf } from './read.ts';

export type Place = Readonly<{
  upstream_port: string | null;
  gpu: PciFunction | null;
  /** The controller of the disk; null if there is none, or only the boot disk of the host. */
  drive: PciFunction | null;
  boot_drives: readonly string[];
  card: PciFunction | null;
  vf: string | null;
  vfs_of_card: number;
}>;

export type Parts = Readonly<{
  functions: readonly PciFunction[];
  accelerators: readonly string[];
  fabric_functions: readonly string[];
  disks: readonly DiskFacts[];
  nics: ReadonlyMap<string, NicFacts>;
}>;

/** The nearest switch that carries another device too: some GPUs and cards have an internal switch. */
const homesOf = (functions: readonly PciFunction[]): ReadonlyMap<string, string | null> => {
  const known = new Map(functions.map((fn) => [fn.address, fn]));
  const endpoints = functions.filter((fn) => !isBridge(fn) && fn.physical_function === null);
  const chainOf = (fn: PciFunction): string[] => {
    const chain: string[] = [];
    for (let port = fn.upstream_port; port !== null && !chain.includes(port); ) {
      chain.push(port);
      port = known.get(port)?.upstream_port ?? null;
    }
    return chain;
  };
  const chains = new Map(endpoints.map((fn) => [fn.address, chainOf(fn)]));
  const devicesUnder = new Map<string, Set<string>>();
  for (const [address, chain] of chains)
    for (const port of chain) devicesUnder.set(port, (devicesUnder.get(port) ?? new Set()).add(deviceOf(address)));
  const home = (chain: readonly string[]): string | null =>
    chain.find((port) => (devicesUnder.get(port)?.size ?? 0) > 1) ?? chain[0] ?? null;
  return new Map([...chains].map(([address, chain]) => [address, home(chain)]));
};

type Switch = { gpus: PciFunction[]; drives: PciFunction[]; boot: PciFunction[]; cards: PciFunction[] };

/** The card of the slots is the model below most switches with a GPU; among equals InfiniBand, then the smaller ID. */
const chooseCards = (switches: readonly Switch[], { accelerators, fabric_functions, nics }: Parts): void => {
  const ids = new Map<string, { count: number; is_named: boolean; is_infiniband: boolean }>();
  for (const { gpus, cards } of switches)
    for (const id of new Set(cards.map(idOf))) {
      const found = cards.filter((fn) => idOf(fn) === id);
      ids.set(id, {
        count: (ids.get(id)?.count ?? 0) + (gpus.length > 0 ? 1 : 0),
        is_named: accelerators.includes(id) || fabric_functions.includes(id),
        is_infiniband:
          ids.get(id)?.is_infiniband === true || found.some((fn) => isInfiniband(fn, nics.get(fn.address))),
      });
    }
  const ranked = [...ids].sort(
    ([a, x], [b, y]) =>
      Number(y.is_named) - Number(x.is_named) ||
      y.count - x.count ||
      Number(y.is_infiniband) - Number(x.is_infiniband) ||
      (a < b ? -1 : 1),
  );
  const chosen = ranked[0]?.[0];
  for (const one of switches) one.cards = one.cards.filter((fn) => idOf(fn) === chosen);
};

const switchesOf = (parts: Parts): ReadonlyMap<string, Switch> => {
  const homes = homesOf(parts.functions);
  const bootControllers = new Set(parts.disks.filter((disk) => disk.is_boot).map((disk) => disk.pci_address));
  const switches = new Map<string, Switch>();
  for (const fn of parts.functions.toSorted(byAddress)) {
    const home = homes.get(fn.address);
    if (home === null || home === undefined) continue;
    const at = switches.get(home) ?? { gpus: [], drives: [], boot: [], cards: [] };
    switches.set(home, at);
    if (isAccelerator(fn, parts.accelerators)) at.gpus.push(fn);
    else if (isNvme(fn)) (bootControllers.has(fn.address) ? at.boot : at.drives).push(fn);
    else if (isWholeFabric(fn, parts.fabric_functions) || isFabricCard(fn, parts.nics)) at.cards.push(fn);
  }
  chooseCards([...switches.values()], parts);
  return switches;
};

/** The assignable functions of a card, in order. A whole function is its own only entry. */
const functionsOf = (card: PciFunction, { functions, fabric_functions: names }: Parts): readonly string[] => {
  if (isWholeFabric(card, names)) return [card.address];
  const isNamed = (address: string): boolean =>
    functions.some((fn) => fn.address === address && names.includes(idOf(fn)));
  const all = card.virtual_functions.toSorted(compareAddress);
  return names.length === 0 ? all : all.filter(isNamed);
};

/** Cards are assigned in turn; a card with several places gives each its own VF, as long as there are any. */
const placesUnder = (port: string, at: Switch, gpusMax: number, parts: Parts): Place[] => {
  const missing = Math.max(0, Math.min(at.drives.length, at.cards.length, gpusMax) - at.gpus.length);
  return Array.from({ length: at.gpus.length + missing }, (_, index): Place => {
    const card = at.cards[index % Math.max(1, at.cards.length)] ?? null;
    const nth = Math.floor(index / Math.max(1, at.cards.length));
    const vfs = card === null ? [] : functionsOf(card, parts);
    return {
      upstream_port: port,
      gpu: at.gpus[index] ?? null,
      drive: at.drives[index] ?? null,
      boot_drives: at.boot.map((fn) => fn.address),
      card,
      vf: vfs[nth] ?? null,
      vfs_of_card: vfs.length,
    };
  });
};

const alone = (gpu: PciFunction): Place => ({
  upstream_port: null,
  gpu,
  drive: null,
  boot_drives: [],
  card: null,
  vf: null,
  vfs_of_card: 0,
});

/** In the order of slot numbers: by switch, and by GPU if there is no switch. */
export const placesOf = (parts: Parts): Place[] => {
  const switches = switchesOf(parts);
  const gpusMax = Math.max(0, ...[...switches.values()].map((at) => at.gpus.length));
  const paired = [...switches].flatMap(([port, at]) => placesUnder(port, at, gpusMax, parts));
  const placed = new Set(paired.map((place) => place.gpu?.address));
  const rest = parts.functions.filter((fn) => isAccelerator(fn, parts.accelerators) && !placed.has(fn.address));
  const at = (place: Place): string => place.upstream_port ?? place.gpu?.address ?? '';
  return [...paired, ...rest.toSorted(byAddress).map(alone)].sort((a, b) => compareAddress(at(a), at(b)));
};
