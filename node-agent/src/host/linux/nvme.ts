/** The wipe abilities of an NVMe controller, from `nvme id-ctrl` as JSON or text. */
import { HostError } from '../host.ts';

export type EraseAbility = Readonly<{
  sanitize_crypto: boolean;
  sanitize_block: boolean;
  format: boolean;
  format_crypto: boolean;
}>;

const FIELDS = ['oacs', 'fna', 'sanicap'] as const;

const numberOf = (text: string, field: string): number => {
  const json = new RegExp(`"${field}"\\s*:\\s*(\\d+)`).exec(text)?.[1];
  const plain = new RegExp(`^${field}\\s*:\\s*(0x[0-9a-f]+|\\d+)`, 'mi').exec(text)?.[1];
  const value = json ?? plain;
  if (value === undefined) throw new HostError('host_error', `nvme id-ctrl reports no ${field}.`);
  return Number(value);
};

/** Bits of the NVMe specification: a disk that does not set one would refuse the command, or do something else. */
export const eraseAbilityOf = (idCtrl: string): EraseAbility => {
  const [oacs, fna, sanicap] = FIELDS.map((field) => numberOf(idCtrl, field)) as [number, number, number];
  return {
    sanitize_crypto: (sanicap & 1) !== 0,
    sanitize_block: (sanicap & 2) !== 0,
    format: (oacs & 2) !== 0,
    format_crypto: (fna & 4) !== 0,
  };
};
