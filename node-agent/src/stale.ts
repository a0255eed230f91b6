/**
 * Slots for which this host knows a later claim than the task's. All of them are reported with their generations: a
 * control plane restored from a backup learns them at once, and an operator decides once and not slot by slot.
 */
export type Slot = Readonly<{ slot_id: string; generation: number }>;
export type StaleSlot = Slot & Readonly<{ newest: number }>;
type Known = Readonly<{ slot_id: string; newest_generation: number }>;
/** The first one also as top-level fields, for control planes that do not know the list. */
type StaleOutput = Known & Readonly<{ slots: readonly Known[] }>;

const DISK = 'disk ';

/** Disks outside of slots, as subjects of generations. */
export const diskTargets = (disks: readonly Readonly<{ serial: string; generation: number }>[]): readonly Slot[] =>
  disks.map(({ serial, generation }) => ({ slot_id: `${DISK}${serial}`, generation }));

const nameOf = (id: string): string => (id.startsWith(DISK) ? `Disk ${id.slice(DISK.length)}` : `Slot ${id}`);

export const staleSlots = (
  slots: readonly Slot[],
  newestOf: (slotId: string) => number | undefined,
): readonly StaleSlot[] =>
  slots.flatMap(({ slot_id, generation }) => {
    const newest = newestOf(slot_id) ?? 0;
    return generation < newest ? [{ slot_id, generation, newest }] : [];
  });

export const staleSentence = (slots: readonly StaleSlot[]): string =>
  slots
    .map(
      ({ slot_id, generation, newest }) =>
        `${nameOf(slot_id)} is at generation ${newest} on this host; this task is of generation ${generation}.`,
    )
    .join(' ');

export const staleOutput = (slots: readonly StaleSlot[]): StaleOutput => {
  const known = slots.map(({ slot_id, newest }) => ({ slot_id, newest_generation: newest }));
  const [first = { slot_id: '', newest_generation: 0 }] = known;
  return { ...first, slots: known };
};
