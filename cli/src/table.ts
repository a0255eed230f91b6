/**
 * Tables that fit their terminal: optional columns are dropped first, then long text is cut or wrapped, and IDs are
 * never cut.
 */
import { clean, truncate, truncateStart, widthOf } from './clean.ts';

export type Column<T> = Readonly<{
  header: string;
  value: (row: T) => string | number | boolean | null | undefined;
  /**
   * Shrinks if the table is too wide: a name is cut with an ellipsis, one whose end matters more at its start, and a
   * sentence wraps.
   */
  shrink?: 'cut' | 'cut-start' | 'wrap';
  /** Dropped if the table is too wide, the last one first. */
  optional?: true;
  align?: 'right';
}>;

const GAP = 2;
const SHRUNK_MIN = 8;

/** `1 node`, `2 nodes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Minutes are enough for a table; the JSON has the rest. */
export const shortTime = (time: string | null | undefined): string =>
  time ? `${time.slice(0, 10)} ${time.slice(11, 16)}Z` : '-';

/** `2d 5h`, `3h 20m`, `4m 10s`: the two largest units, rounded down. */
export const shortDuration = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const units: readonly [string, number][] = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3600) % 24],
    ['m', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ];
  const first = units.findIndex(([, count]) => count > 0);
  const shown = first === -1 ? units.slice(-1) : units.slice(first, first + 2).filter(([, count]) => count > 0);
  return shown.map(([unit, count]) => `${count}${unit}`).join(' ');
};

export const cell = (value: string | number | boolean | null | undefined): string => {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return clean(String(value));
};

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1));

type Laid = {
  header: string;
  cells: string[];
  width: number;
  shrink: Column<never>['shrink'] | undefined;
  optional: boolean;
  right: boolean;
};

/** Breaks between words; a word longer than the width is on its own line. */
const wrap = (text: string, room: number): string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(`${line} ${word}`) > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
};

const fit = (columns: Laid[], width: number): Laid[] => {
  let kept = columns;
  const widths = () => kept.map((column) => column.width);
  while (total(widths()) > width) {
    const last = kept.findLastIndex((column) => column.optional);
    if (last === -1) break;
    kept = kept.filter((_, index) => index !== last);
  }
  while (total(widths()) > width) {
    const widest = kept
      .filter((column) => column.shrink && column.width > SHRUNK_MIN)
      .sort((a, b) => b.width - a.width)[0];
    if (widest === undefined) break;
    widest.width -= 1;
  }
  return kept;
};

/** The lines of a table, header first, without styling. */
export const layTable = <T>(rows: readonly T[], columns: readonly Column<T>[], width: number): string[] => {
  const laid = columns.map((column): Laid => {
    const cells = rows.map((row) => cell(column.value(row)));
    return {
      header: column.header,
      cells,
      width: Math.max(...[column.header, ...cells].map(widthOf)),
      shrink: column.shrink,
      optional: column.optional === true,
      right: column.align === 'right',
    };
  });
  const kept = fit(laid, width);
  const pad = (text: string, column: Laid): string => {
    const cut = (column.shrink === 'cut-start' ? truncateStart : truncate)(text, column.width);
    const space = ' '.repeat(Math.max(0, column.width - widthOf(cut)));
    return column.right ? space + cut : cut + space;
  };
  const lines = (textOf: (column: Laid) => string): string[] => {
    const parts = kept.map((column) =>
      column.shrink === 'wrap' ? wrap(textOf(column), column.width) : [textOf(column)],
    );
    const height = Math.max(...parts.map(({ length }) => length));
    return Array.from({ length: height }, (_, row) =>
      kept
        .map((column, index) => pad(parts[index]?.[row] ?? '', column))
        .join(' '.repeat(GAP))
        .trimEnd(),
    );
  };
  return [...lines(({ header }) => header), ...rows.flatMap((_, index) => lines(({ cells }) => cells[index] ?? ''))];
};

/** Sentences below a heading, each indented and over as many lines as it needs. */
export const layPoints = (points: readonly string[], width: number): string[] =>
  points.flatMap((point) => wrap(clean(point), width - 4).map((part, index) => (index === 0 ? '  ' : '    ') + part));

/** Names on the left, values on the right, long values over several lines. */
export const layRecord = (fields: readonly (readonly [string, string])[], width: number): string[] => {
  const left = Math.max(0, ...fields.map(([name]) => name.length)) + GAP;
  return fields.flatMap(([name, value]) => {
    const parts = wrap(clean(value), Math.max(20, width - left));
    return parts.map((part, index) => (index === 0 ? name : '').padEnd(left) + part);
  });
};
