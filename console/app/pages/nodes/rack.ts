/**
 * The location of a host, read from its name: j22u15 is unit 15 of rack j22. Names are the only source, so a name
 * without a location goes under "other", and nothing else depends on it.
 */
export type Place = Readonly<{ rack: string; unit: number | null }>;

export const OTHER_RACK = 'other';
const NAMED = /^(?<rack>[a-z]+-?\d+)-?u(?<unit>\d{1,3})$/i;

export const placeOf = (name: string): Place => {
  const groups = NAMED.exec(name)?.groups;
  return groups?.['rack'] === undefined || groups['unit'] === undefined
    ? { rack: OTHER_RACK, unit: null }
    : { rack: groups['rack'].toLowerCase(), unit: Number(groups['unit']) };
};

const byNumbersInside = new Intl.Collator('en', { numeric: true });

export type Rack<T> = Readonly<{ rack: string; nodes: readonly T[] }>;

/** Racks in order of their names, "other" last; hosts in order of their units, then names. */
export const byRack = <T extends Readonly<{ name: string }>>(nodes: readonly T[]): readonly Rack<T>[] => {
  const racks = new Map<string, { unit: number | null; node: T }[]>();
  for (const node of nodes) {
    const { rack, unit } = placeOf(node.name);
    const known = racks.get(rack);
    if (known === undefined) racks.set(rack, [{ unit, node }]);
    else known.push({ unit, node });
  }
  return [...racks]
    .sort(([a], [b]) => Number(a === OTHER_RACK) - Number(b === OTHER_RACK) || byNumbersInside.compare(a, b))
    .map(([rack, placed]) => ({
      rack,
      nodes: placed
        .sort((a, b) => (a.unit ?? 0) - (b.unit ?? 0) || byNumbersInside.compare(a.node.name, b.node.name))
        .map(({ node }) => node),
    }));
};
