/** Which allocations a list shows: what lives unless somebody asks for more. */
import type { Allocation } from '@gpuaas/sdk';
import { stateWord } from '../../format/state.ts';

export type AllocationState = Allocation['state'];

/** What is somebody's, or still being cleaned up after them. */
export const LIVE_STATES = ['requested', 'provisioning', 'active', 'releasing', 'release_failed'] as const;
export const ALL_STATES = [...LIVE_STATES, 'failed', 'released'] as const satisfies readonly AllocationState[];

export type StateFilter = 'live' | 'all' | AllocationState;

/** A strange word in an address is what it is without one. */
export const filterOf = (text: string | undefined): StateFilter =>
  text === 'all'
    ? 'all'
    : (((ALL_STATES as readonly string[]).find((state) => state === text) as StateFilter) ?? 'live');

export const FILTER_CHOICES: readonly Readonly<{ value: StateFilter; label: string }>[] = [
  { value: 'live', label: 'Live' },
  { value: 'all', label: 'All' },
  ...ALL_STATES.map((state) => ({ value: state, label: stateWord('allocation', state).word })),
];

type Row = Pick<Allocation, 'name' | 'id' | 'created_at'>;

export const named = <T extends Row>(rows: readonly T[], text: string): readonly T[] => {
  const wanted = text.trim().toLowerCase();
  return wanted === '' ? rows : rows.filter(({ name, id }) => name.includes(wanted) || id === wanted);
};

/** Of several lists one, newest first; ids tell which of two of the same moment is newer. */
export const newestFirst = <T extends Row>(lists: readonly (readonly T[])[]): readonly T[] =>
  lists
    .flat()
    .toSorted((a, b) =>
      a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1,
    );

const SHAPES: Readonly<Record<Allocation['capacity_shape'], string>> = {
  baremetal: 'Bare metal',
  gpu_slice: 'GPU slice',
};
export const shapeWords = ({ capacity_shape, gpu_count }: Pick<Allocation, 'capacity_shape' | 'gpu_count'>): string =>
  `${SHAPES[capacity_shape]}, ${gpu_count === 1 ? '1 GPU' : `${gpu_count} GPUs`}`;
