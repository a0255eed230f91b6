/** Tables that fit their terminal: optional columns go first, long text is cut next, ids are never cut. */
import { clean, truncate, widthOf } from './clean.ts';

export type Column<T> = Readonly<{
  header: string;
  value: (row: T) => string | number | boolean | null | undefined;
  /** May be cut with an ellipsis. */
  shrink?: true;
  /** Left out where the width does not reach, the last one first. */
  optional?: true;
  align?: 'right';
}>;

const GAP = 2;
const SHRUNK_MIN = 8;

/** Minutes are enough for a table; the JSON has the rest. */
export const shortTime = (time: string | null | undefined): string =>
  time ? `${time.slice(0, 10)} ${time.slice(11, 16)}Z` : '-';

export const cell = (value: string | number | boolean | null | undefined): string => {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return clean(String(value));
};

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1));

type Laid = { header: string; cells: string[]; width: number; shrink: boolean; optional: boolean; right: boolean };

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
      shrink: column.shrink === true,
      optional: column.optional === true,
      right: column.align === 'right',
    };
  });
  const kept = fit(laid, width);
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => {
        const column = kept[index];
        if (column === undefined) return text;
        const cut = truncate(text, column.width);
        const pad = ' '.repeat(Math.max(0, column.width - widthOf(cut)));
        return column.right ? pad + cut : cut + pad;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  return [
    line(kept.map(({ header }) => header)),
    ...rows.map((_, index) => line(kept.map(({ cells }) => cells[index] ?? ''))),
  ];
};

/** Names on the left, values on the right, long values over several lines. */
export const layRecord = (fields: readonly (readonly [string, string])[], width: number): string[] => {
  const left = Math.max(0, ...fields.map(([name]) => name.length)) + GAP;
  return fields.flatMap(([name, value]) => {
    const room = Math.max(20, width - left);
    const parts: string[] = [];
    let line = '';
    for (const word of clean(value).split(' ')) {
      if (line !== '' && widthOf(`${line} ${word}`) > room) {
        parts.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    parts.push(line);
    return parts.map((part, index) => (index === 0 ? name : '').padEnd(left) + part);
  });
};
