/** The fleet on a screen: one line per node, one character per slot. */
import type { SlotMapRow } from '@gpuaas/sdk';
import { command, text } from '../command.ts';
import { collect, pageFlags } from '../flags.ts';

type Tile = SlotMapRow['slots'][number];

const SIGNS = [
  ['.', 'free'],
  ['r', 'reserved'],
  ['#', 'in use'],
  ['~', 'cleaning'],
  ['!', 'cleanup blocked'],
  ['q', 'quarantined'],
  ['-', 'disabled'],
  ['d', 'hardware changed'],
  ['x', 'unhealthy'],
] as const;

/** So that a line fits 80 columns. */
const LEGEND_A_LINE = 5;

const STATUS_SIGNS = { reserved: 'r', in_use: '#', cleaning: '~', cleanup_blocked: '!', quarantined: 'q' } as const;

/** Why it is not schedulable: its use comes before its schedulability, and that before its health. */
const signOf = ({ status, approval, health }: Tile): string => {
  if (status !== 'available') return STATUS_SIGNS[status];
  if (approval !== 'approved') return approval === 'disabled' ? '-' : 'd';
  return health === 'ok' ? '.' : 'x';
};

export const slotMap = command({
  name: 'map',
  summary: 'Show all nodes with one character per slot',
  flags: { region: text('Only this region', 'name'), ...pageFlags },
  examples: ['gpuaas admin slot map --all', 'gpuaas admin slot map --region us-buffalo-1'],
  run: async (cli, { flags }) => {
    const client = await cli.client();
    const read = (query: { limit: number; cursor: string | undefined }) =>
      client.adminSlotMapList({ query: { ...query, region_name: flags.region } }, { signal: cli.signal });
    const found = await collect(flags, read);
    cli.out.list(found, [
      { header: 'NODE', value: ({ name }) => name, shrink: 'cut-start' },
      { header: 'STATE', value: ({ state }) => state },
      { header: 'SLOTS', value: ({ slots }) => slots.map(signOf).join('') },
      { header: 'FREE', value: ({ free_gpus }) => free_gpus, align: 'right' },
      { header: 'LARGEST', value: ({ largest_set }) => largest_set, align: 'right' },
      { header: 'HEALTH', value: ({ health }) => health, optional: true },
      { header: 'AGENT', value: ({ is_connected }) => (is_connected ? 'connected' : 'disconnected'), optional: true },
      { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
    ]);
    if (cli.out.json || found.items.length === 0) return;
    const used = new Set(found.items.flatMap(({ slots }) => slots.map(signOf)));
    const legend = SIGNS.filter(([sign]) => used.has(sign)).map(([sign, word]) => `${sign} ${word}`);
    for (let at = 0; at < legend.length; at += LEGEND_A_LINE)
      cli.out.say(legend.slice(at, at + LEGEND_A_LINE).join('   '));
  },
});
