/**
 * The layout of the topology diagram. NUMA nodes are below each other, each a row of switches, each switch a column of
 * its devices; NVLink sets are brackets over their modules at the bottom. Pure numbers, so that the layout can be
 * tested without rendering.
 */
import type { Device, LinkSet, NumaNode, Switch, Topology } from './topology.ts';

export type Box = Readonly<{ x: number; y: number; width: number; height: number }>;
export type PlacedDevice = Box & Readonly<{ device: Device }>;
export type PlacedSwitch = Box & Readonly<{ port: string | null; label: string }>;
export type PlacedNuma = Box & Readonly<{ label: string }>;
export type Line = Readonly<{ x1: number; y1: number; x2: number; y2: number }>;
export type PlacedSet = Readonly<{ set: LinkSet; y: number; cells: readonly (Box & Readonly<{ module: number }>)[] }>;
export type Layout = Readonly<{
  width: number;
  height: number;
  numaNodes: readonly PlacedNuma[];
  switches: readonly PlacedSwitch[];
  devices: readonly PlacedDevice[];
  lines: readonly Line[];
  sets: readonly PlacedSet[];
  setsTop: number;
  nvswitches: Box | null;
}>;

const DEVICE = { width: 116, height: 44 };
const GAP = 8;
const PADDING = 14;
const SWITCH_HEIGHT = 26;
const LABEL = 24;
const RISE = 18;
const SET_HEIGHT = 16;
const PER_ROW = 4;

type Drawn = { switches: PlacedSwitch[]; devices: PlacedDevice[]; lines: Line[] };

const drawSwitch = (one: Switch, x: number, y: number, into: Drawn): number => {
  const columns = one.devices.filter(({ kind }) => kind === 'gpu').length > 1 ? 2 : 1;
  const width = columns * DEVICE.width + (columns - 1) * GAP;
  into.switches.push({
    x,
    y,
    width,
    height: SWITCH_HEIGHT,
    port: one.port,
    label: one.port === null ? 'no switch' : `switch ${one.port.replace(/^0000:/, '')}`,
  });
  one.devices.forEach((device, index) => {
    const left = x + (index % columns) * (DEVICE.width + GAP);
    const top = y + SWITCH_HEIGHT + RISE + Math.floor(index / columns) * (DEVICE.height + GAP);
    into.devices.push({ x: left, y: top, ...DEVICE, device });
    if (index < columns)
      into.lines.push({
        x1: left + DEVICE.width / 2,
        y1: y + SWITCH_HEIGHT,
        x2: left + DEVICE.width / 2,
        y2: top,
      });
  });
  return width;
};

const heightOf = ({ devices }: Switch): number => {
  const columns = devices.filter(({ kind }) => kind === 'gpu').length > 1 ? 2 : 1;
  return SWITCH_HEIGHT + RISE + Math.ceil(devices.length / columns) * (DEVICE.height + GAP);
};

const chunks = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** Returns where the next NUMA node starts, and the right edge of this one. */
const drawNuma = (
  node: NumaNode,
  y: number,
  into: Drawn & { numaNodes: { y: number; height: number; label: string }[] },
) => {
  let top = y + LABEL + RISE;
  let right = 0;
  for (const row of chunks(node.switches, PER_ROW)) {
    let x = PADDING * 2;
    for (const one of row) {
      const width = drawSwitch(one, x, top, into);
      into.lines.push({ x1: x + width / 2, y1: top - RISE, x2: x + width / 2, y2: top });
      x += width + GAP * 3;
    }
    right = Math.max(right, x - GAP * 3);
    top += Math.max(...row.map(heightOf)) + RISE;
  }
  const label = node.numa === null ? 'NUMA node unknown' : `NUMA node ${node.numa}`;
  into.numaNodes.push({ y, height: top - y - RISE + PADDING / 2, label });
  return { next: top + PADDING, right };
};

const drawSets = (topology: Topology, top: number): readonly PlacedSet[] => {
  const gpus = topology.numaNodes.flatMap(({ switches }) => switches.flatMap(({ devices }) => devices));
  const modules = [...new Set(gpus.flatMap(({ module }) => (module === null ? [] : [module])))].sort((a, b) => a - b);
  return topology.linkSets.map((set, index) => ({
    set,
    y: top + index * (SET_HEIGHT + 4),
    cells: modules.flatMap((module, column) =>
      set.modules.includes(module)
        ? [{ module, x: 220 + column * 34, y: top + index * (SET_HEIGHT + 4), width: 30, height: SET_HEIGHT }]
        : [],
    ),
  }));
};

export const layOut = (topology: Topology): Layout => {
  const drawn = { switches: [], devices: [], lines: [], numaNodes: [] } as Drawn & {
    numaNodes: { y: number; height: number; label: string }[];
  };
  let y = PADDING;
  let right = 320;
  for (const node of topology.numaNodes) {
    const { next, right: reached } = drawNuma(node, y, drawn);
    y = next;
    right = Math.max(right, reached);
  }
  const width = Math.max(right + PADDING * 2, topology.linkSets.length > 0 ? 520 : 0);
  const nvswitches =
    topology.nvswitches.length === 0 ? null : { x: PADDING, y, width: width - PADDING * 2, height: SWITCH_HEIGHT };
  if (nvswitches !== null) y += SWITCH_HEIGHT + PADDING;
  const sets = drawSets(topology, y + LABEL);
  if (sets.length > 0) y += LABEL + sets.length * (SET_HEIGHT + 4) + PADDING;
  return {
    width,
    height: y,
    numaNodes: drawn.numaNodes.map((node) => ({ x: PADDING, width: width - PADDING * 2, ...node })),
    switches: drawn.switches,
    devices: drawn.devices,
    lines: drawn.lines,
    sets,
    setsTop: sets[0]?.y ?? y,
    nvswitches,
  };
};
