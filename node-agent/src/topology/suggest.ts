/**
 * Deterministic suggestions from node and slot alone. The control plane decides; it also ensures that no two slots of a
 * site share a MAC and no two of a network an address.
 */
import { createHash } from 'node:crypto';

/** Locally administered, so that it can be no card's own. */
export const macOf = (nodeId: string, slotIndex: number): string => {
  const hash = createHash('sha256').update(`${nodeId}\n${slotIndex}`).digest();
  return ['02', ...[...hash.subarray(0, 5)].map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
};

const FIRST_HOST = 10;

/** The addresses below the tenth stay with the bridge, its services and the operator. */
export const privateIpOf = (network: string, slotIndex: number): string | null => {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(network);
  if (match === null) return null;
  const [, ...numbers] = match.map(Number);
  const bits = numbers[4] ?? 0;
  const octets = numbers.slice(0, 4);
  if (bits < 8 || bits > 30 || octets.some((octet) => octet > 255)) return null;
  const size = 2 ** (32 - bits);
  const host = FIRST_HOST + slotIndex;
  if (host >= size - 1) return null;
  const address = octets.reduce((sum, octet) => sum * 256 + octet, 0);
  const base = address - (address % size);
  return [24, 16, 8, 0].map((shift) => Math.floor((base + host) / 2 ** shift) % 256).join('.');
};

/** An interface name has 15 characters at most. */
export const ovsPortOf = (slotIndex: number): string => `gpslot${slotIndex}`;
