/**
 * The content of one tile of the slot map. A tile has room for a glyph and a short word; it must never look free if
 * nothing can be placed there, so approval and health take precedence over the status "available".
 */
import type { SlotMapRow } from '@gpuaas/sdk';
import { stateWord, type Tone } from '../../format/state.ts';
import { span } from '../../format/time.ts';

export type Tile = SlotMapRow['slots'][number];
export type TileLook = Readonly<{ short: string; word: string; glyph: string; tone: Tone; isMarked: boolean }>;

const GLYPHS: Readonly<Record<Tile['status'], string>> = {
  available: '○',
  reserved: '◔',
  in_use: '●',
  cleaning: '↻',
  cleanup_blocked: '✕',
  quarantined: '▲',
};
const SHORT: Readonly<Record<Tile['status'], string>> = {
  available: 'Free',
  reserved: 'Claim',
  in_use: 'Used',
  cleaning: 'Wipe',
  cleanup_blocked: 'Stuck',
  quarantined: 'Quar.',
};

const look = (short: string, word: string, glyph: string, tone: Tone): Omit<TileLook, 'isMarked'> => ({
  short,
  word,
  glyph,
  tone,
});

const OFF = look('Off', 'Disabled', '–', 'idle');
const REVIEW = look('Review', 'Needs reapproval', '▲', 'warn');
const UNHEALTHY = look('Alert', 'Unhealthy', '✕', 'bad');
const UNSURE = look('Unsure', 'Health unknown', '?', 'warn');

/** The node is not schedulable, whatever its slots are. */
const IDLE = look('Idle', 'Available, but the node is not schedulable', '○', 'idle');

const faceOf = (slot: Tile, isPlaceable: boolean): Omit<TileLook, 'isMarked'> => {
  if (slot.status !== 'available') {
    const { word, tone } = stateWord('slot', slot.status);
    return look(SHORT[slot.status] ?? word, word, GLYPHS[slot.status] ?? '?', tone);
  }
  if (slot.approval === 'disabled') return OFF;
  if (slot.approval === 'needs_reapproval') return REVIEW;
  if (slot.health === 'unhealthy') return UNHEALTHY;
  if (slot.health === 'unknown') return UNSURE;
  if (!isPlaceable) return IDLE;
  const { word, tone } = stateWord('slot', slot.status);
  return look(SHORT.available, word, GLYPHS.available, tone);
};

/** Marked: there is more to show than the tile has room for. A node is placeable if it counts any GPU as free. */
export const tileLook = (slot: Tile, isPlaceable: boolean): TileLook => ({
  ...faceOf(slot, isPlaceable),
  isMarked:
    slot.has_hardware_change ||
    (slot.status !== 'available' && (slot.health === 'unhealthy' || slot.approval !== 'approved')),
});

/** One of each kind of tile, for the legend beside the map. */
export const TILE_KEY: readonly Omit<TileLook, 'isMarked'>[] = [
  ...(Object.keys(SHORT) as Tile['status'][]).map((status) => {
    const { word, tone } = stateWord('slot', status);
    return look(SHORT[status], word, GLYPHS[status], tone);
  }),
  IDLE,
  OFF,
  REVIEW,
  UNHEALTHY,
  UNSURE,
];

/** A tile as a sentence, for screen readers. It starts with the visible text, so that voice control finds it. */
export const tileSentence = (slot: Tile, isPlaceable: boolean, nowMs: number): string => {
  const { short, word } = tileLook(slot, isPlaceable);
  return [
    `${short}, slot ${slot.slot_index}: ${word}`,
    ...(slot.approval === 'approved' || word === stateWord('approval', slot.approval).word
      ? []
      : [stateWord('approval', slot.approval).word]),
    ...(slot.health === 'ok' || word === stateWord('health', slot.health).word
      ? []
      : [stateWord('health', slot.health).word]),
    ...(slot.has_hardware_change ? ['hardware differs from approval'] : []),
    `for ${span(nowMs - Date.parse(slot.status_since))}`,
  ].join(', ');
};

/** How many NUMA nodes come before the one of this tile in its row: the number of gaps before it. */
export const numaGroup = (slots: readonly Pick<Tile, 'numa_node'>[], index: number): number =>
  slots
    .slice(1, index + 1)
    .reduce((gaps, slot, before) => gaps + Number(slot.numa_node !== slots[before]?.numa_node), 0);
