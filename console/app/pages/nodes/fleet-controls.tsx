/** Filters of the slot map, with the number of nodes per choice. All filters are part of the address. */
import { APPROVALS } from '@gpuaas/sdk';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconAlertTriangle, IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { type StateKind, stateWord } from '../../format/state.ts';
import type { Facet, FacetCounts, NodeFilter } from './filter.ts';

const SETTLE_MS = 150;

const CHOICES: readonly Readonly<{ facet: Facet; label: string; kinds: readonly StateKind[] }>[] = [
  { facet: 'region', label: 'Region', kinds: [] },
  { facet: 'state', label: 'State', kinds: ['node'] },
  { facet: 'occupancy', label: 'Occupancy', kinds: ['occupancy'] },
  { facet: 'health', label: 'Health', kinds: ['health'] },
  { facet: 'slot', label: 'Slot state', kinds: ['slot', 'approval'] },
];

const isApproval = (value: string): boolean => APPROVALS.some((approval) => approval === value);
const wordOf = (kinds: readonly StateKind[], value: string): string => {
  const kind = kinds.length > 1 && isApproval(value) ? kinds[1] : kinds[0];
  return kind === undefined ? value : stateWord(kind, value).word;
};

/** Holds the typed text and applies it after a pause, because updating the address on each key is too slow. */
const SearchBox = ({ value, onChange }: Readonly<{ value: string; onChange: (text: string) => void }>) => {
  const [text, setText] = useState(value);
  const [applied, setApplied] = useState(value);
  if (value !== applied) {
    setApplied(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => {
      setApplied(text);
      onChange(text);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <TextInput
      className="fleet-search"
      label="Search"
      type="search"
      placeholder="Name, pool or ID"
      leftSection={<IconSearch size={15} aria-hidden />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
};

export const FleetControls = ({
  filter,
  counts,
  onChange,
}: Readonly<{
  filter: NodeFilter;
  counts: FacetCounts;
  onChange: (name: Facet | 'q' | 'attention', value: string | undefined) => void;
}>) => (
  <search className="fleet-controls" aria-label="Filter nodes">
    <SearchBox value={filter.q ?? ''} onChange={(text) => onChange('q', text === '' ? undefined : text)} />
    {CHOICES.map(({ facet, label, kinds }) => {
      const found = [...counts[facet]].sort(([a], [b]) => a.localeCompare(b));
      const chosen = filter[facet];
      return (
        <NativeSelect
          key={facet}
          label={label}
          value={chosen ?? ''}
          onChange={(event) =>
            onChange(facet, event.currentTarget.value === '' ? undefined : event.currentTarget.value)
          }
        >
          <option value="">Any</option>
          {found.map(([value, count]) => (
            <option key={value} value={value}>
              {wordOf(kinds, value)} ({count})
            </option>
          ))}
          {chosen !== undefined && !counts[facet].has(chosen) && (
            <option value={chosen}>{wordOf(kinds, chosen)} (0)</option>
          )}
        </NativeSelect>
      );
    })}
    <Button
      variant={filter.attention === undefined ? 'default' : 'light'}
      aria-pressed={filter.attention !== undefined}
      leftSection={<IconAlertTriangle size={15} aria-hidden />}
      onClick={() => onChange('attention', filter.attention === undefined ? 'yes' : undefined)}
    >
      Needs attention ({counts.attention})
    </Button>
  </search>
);
