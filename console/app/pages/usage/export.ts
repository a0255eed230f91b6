/**
 * Usage as a file: JSON as the API returns it, or CSV for a spreadsheet. Cells that a spreadsheet would run as a
 * formula are escaped as text.
 */
import type { Money, UsageRecord } from '@gpuaas/sdk';

/** Minor units as a decimal number, without a float in between: 3192 USD is 31.92. */
export const decimal = ({ amount_minor, currency }: Money): string => {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  const text = String(Math.abs(amount_minor)).padStart(digits + 1, '0');
  const sign = amount_minor < 0 ? '-' : '';
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
};

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

const cell = (value: string | number): string => {
  const text = String(value);
  const inert = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
};

const HEADERS = [
  'usage_record_id',
  'allocation_id',
  'allocation_name',
  'sku_name',
  'gpu_count',
  'gpu_hourly_price',
  'started_at',
  'ended_at',
  'cost',
  'currency',
] as const;

const rowOf = (record: UsageRecord, name: string): readonly (string | number)[] => [
  record.id,
  record.allocation_id,
  name,
  record.sku_name,
  record.gpu_count,
  decimal(record.gpu_hourly_price),
  record.started_at,
  record.ended_at ?? '',
  decimal(record.cost),
  record.cost.currency,
];

export const usageCsv = (records: readonly UsageRecord[], names: ReadonlyMap<string, string>): string =>
  [HEADERS, ...records.map((record) => rowOf(record, names.get(record.allocation_id) ?? ''))]
    .map((row) => `${row.map(cell).join(',')}\r\n`)
    .join('');

export const usageJson = (records: readonly UsageRecord[]): string =>
  `${JSON.stringify({ items: records }, null, 2)}\n`;
