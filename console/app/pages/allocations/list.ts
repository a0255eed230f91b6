/** Which allocations a list shows: live ones, unless the filter names another state. */
import { ALLOCATION_STATES, type Allocation, ENDED_ALLOCATION_STATES } from '@gpuaas/sdk';
import { stateWord } from '../../format/state.ts';

export type AllocationState = Allocation['state'];

const ENDED_STATES: readonly AllocationState[] = ENDED_ALLOCATION_STATES;

/** Live allocations hold capacity: they run, start, or wait for cleanup. */
export const isLive = ({ state }: Pick<Allocation, 'state'>): boolean => !ENDED_STATES.includes(state);

export const LIVE_STATES = ALLOCATION_STATES.filter((state) => isLive({ state }));
export const ALL_STATES: readonly AllocationState[] = [...LIVE_STATES, ...ENDED_STATES];

export const noticeCount = ({ notices }: Pick<Allocation, 'notices'>): string =>
  notices.length === 1 ? '1 notice' : `${notices.length} notices`;

export type StateFilter = 'live' | 'all' | AllocationState;

/** An unknown state in the address counts as none. */
export const filterOf = (text: string | undefined): StateFilter =>
  text === 'all' ? 'all' : (ALL_STATES.find((state) => state === text) ?? 'live');

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

/** Merges lists, newest first; ids order rows of the same time. */
export const newestFirst = <T extends Row>(lists: readonly (readonly T[])[]): readonly T[] =>
  lists
    .flat()
    .toSorted((a, b) =>
      a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1,
    );

const SHAPES: Readonly<Record<Allocation['capacity_shape'], string>> = {
  baremetal: 'Bare metal',
  gpu_slice: 'Slice',
};
export const shapeWords = ({ capacity_shape, gpu_count }: Pick<Allocation, 'capacity_shape' | 'gpu_count'>): string =>
  `${SHAPES[capacity_shape]}, ${gpu_count === 1 ? '1 GPU' : `${gpu_count} GPUs`}`;
