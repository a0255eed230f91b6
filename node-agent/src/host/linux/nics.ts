/**
 * Network functions with their kernel names. A virtual function bound to VFIO has no names; its GUID is read from its
 * parent card, which keeps one per virtual function.
 */
import type { NicFacts, PciFunction } from '@gpuaas/contract/node';
import type { Files } from './files.ts';

const DEVICES = '/sys/bus/pci/devices';
const BLUEFIELD_ID = /^a2[0-9a-f]{2}$/;
/** BlueField, BlueField-2 and BlueField-3 as their adapters name themselves. */
const BLUEFIELD_TYPES = new Set(['MT41682', 'MT41686', 'MT41692']);

const layerOf = (text: string | null): NicFacts['link_layer'] =>
  text === 'InfiniBand' ? 'infiniband' : text === 'Ethernet' ? 'ethernet' : null;

/** `4: ACTIVE` */
const stateOf = (text: string | null): string | null => text?.split(':').at(-1)?.trim() ?? null;

const guidFromCard = async (files: Files, fn: PciFunction, all: readonly PciFunction[]): Promise<string | null> => {
  const card = all.find((one) => one.address === fn.physical_function);
  if (card === undefined) return null;
  for (const name of (await files.findNames(`${DEVICES}/${card.address}`, /^virtfn\d+$/)) ?? []) {
    const link = await files.findLink(`${DEVICES}/${card.address}/${name}`);
    if (link?.split('/').at(-1) === fn.address)
      return files.find(`${DEVICES}/${card.address}/sriov/${name.slice('virtfn'.length)}/node`);
  }
  return null;
};

const readNic = async (files: Files, fn: PciFunction, all: readonly PciFunction[]): Promise<NicFacts> => {
  const folder = `${DEVICES}/${fn.address}`;
  const [netdevs, adapters] = await Promise.all([
    files.findNames(`${folder}/net`),
    files.findNames(`${folder}/infiniband`),
  ]);
  const netdev = netdevs?.[0] ?? null;
  const rdma = adapters?.[0] ?? null;
  const adapter = `${folder}/infiniband/${rdma}`;
  const of = (path: string): Promise<string | null> =>
    rdma === null ? Promise.resolve(null) : files.find(`${adapter}/${path}`);
  const [layer, state, guid, type, mac, linkState] = await Promise.all([
    of('ports/1/link_layer'),
    of('ports/1/state'),
    of('node_guid'),
    of('hca_type'),
    netdev === null ? null : files.find(`${folder}/net/${netdev}/address`),
    netdev === null ? null : files.find(`${folder}/net/${netdev}/operstate`),
  ]);
  return {
    pci_address: fn.address,
    netdev,
    rdma_device: rdma,
    link_layer: layerOf(layer),
    state: stateOf(state) ?? linkState,
    guid: guid ?? (await guidFromCard(files, fn, all)),
    mac,
    is_bluefield: (fn.vendor_id === '15b3' && BLUEFIELD_ID.test(fn.device_id)) || BLUEFIELD_TYPES.has(type ?? ''),
  };
};

export const listNics = (files: Files, functions: readonly PciFunction[]): Promise<readonly NicFacts[]> =>
  Promise.all(functions.filter((fn) => fn.class_code.startsWith('02')).map((fn) => readNic(files, fn, functions)));
