import type { Money } from '@gpuaas/sdk';

const formats = new Map<string, Intl.NumberFormat>();
const formatOf = (currency: string): Intl.NumberFormat => {
  const known = formats.get(currency);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  formats.set(currency, made);
  return made;
};

/** Minor units as formatted money: $31.92. The currency defines the number of decimals. */
export const money = ({ amount_minor, currency }: Money): string => {
  const format = formatOf(currency);
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount_minor / 10 ** digits);
};

/** Amounts of several currencies, which cannot be added. */
export const moneys = (amounts: readonly Money[]): string => amounts.map(money).join(' + ');
