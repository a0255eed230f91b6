/** Facts as the planner asks for them. */
import type { Fact } from '@gpuaas/contract/node';

export const factOf = <T>(fact: Fact<T>): T | null => ('value' in fact ? fact.value : null);
export const reasonOf = (fact: Fact<unknown>): string | null => ('unreadable' in fact ? fact.unreadable : null);

/** Domains may be longer than four digits, so text order is not address order. */
const parts = (address: string): readonly number[] => address.split(/[:.]/).map((part) => Number.parseInt(part, 16));

export const compareAddress = (a: string, b: string): number => {
  const right = parts(b);
  for (const [index, left] of parts(a).entries()) {
    const difference = left - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
};

export const byAddress = <T extends Readonly<{ address: string }>>(a: T, b: T): number =>
  compareAddress(a.address, b.address);

/** Functions of one device: everything but the last digit. */
export const deviceOf = (address: string): string => address.slice(0, address.lastIndexOf('.'));
