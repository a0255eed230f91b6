/**
 * GPU events in the kernel's log. A line is taken by what the driver says, in whatever form the log was written: with the
 * time since boot, with a date, or as a record of /dev/kmsg. A GPU that fell off the bus may be told without an Xid, on
 * one line or over four.
 */
import { type XidKind, xidKind } from './xid.ts';

export type GpuEvent = Readonly<{
  /** Null: fallen off the bus, without an Xid. */
  xid: number | null;
  pci_address: string;
  kind: XidKind;
  /** Null where the line does not say. */
  at: Date | null;
  text: string;
}>;

const XID = /NVRM: Xid \((?:PCI:)?([0-9a-f:.]+)\)[^:]*: (\d+),?\s*(.*)$/i;
const OFF_THE_BUS =
  /NVRM: (?:GPU at |The NVIDIA )?(?:GPU )?(?:PCI:)?([0-9a-f]{4,8}:[0-9a-f:.]+?):? .*fallen off the bus/i;
const OFF_THE_BUS_BEGINS = /NVRM: The NVIDIA GPU ([0-9a-f]{4,8}:[0-9a-f:.]+)/i;
const OFF_THE_BUS_ENDS = /NVRM: .*fallen off the bus/i;
const AMD_LOST = /amdgpu ([0-9a-f]{4,8}:[0-9a-f:.]+): .*device lost from bus/i;
const LINES_OF_ONE_MESSAGE = 5;

/** `PCI:0000:9B:00` and `00000000:9B:00.0` are both `0000:9b:00.0`. */
export const addressOf = (text: string): string => {
  const lower = text.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
  return /\.[0-7]$/.test(lower) ? lower : `${lower}.0`;
};

export const gpuEvents = (lines: readonly string[], bootedAt: Date | null): readonly GpuEvent[] =>
  lines.flatMap((line, index): GpuEvent[] => {
    const at = timeOf(line, bootedAt);
    const xid = XID.exec(line);
    if (xid?.[1] !== undefined && xid[2] !== undefined) {
      const code = Number(xid[2]);
      return [{ xid: code, pci_address: addressOf(xid[1]), kind: xidKind(code), at, text: xid[3] ?? '' }];
    }
    const address = (OFF_THE_BUS.exec(line) ?? AMD_LOST.exec(line))?.[1] ?? begunBefore(lines, index);
    return address === undefined
      ? []
      : [{ xid: null, pci_address: addressOf(address), kind: 'broken', at, text: 'fallen off the bus' }];
  });

/** The address of a message that began some lines above and ends on this one. */
const begunBefore = (lines: readonly string[], index: number): string | undefined => {
  if (!OFF_THE_BUS_ENDS.test(lines[index] ?? '')) return undefined;
  return lines
    .slice(Math.max(0, index - LINES_OF_ONE_MESSAGE), index)
    .toReversed()
    .map((line) => OFF_THE_BUS_BEGINS.exec(line)?.[1])
    .find((address) => address !== undefined);
};

const MS_PER_S = 1000;

const timeOf = (line: string, bootedAt: Date | null): Date | null => {
  const sinceBoot = /^\[\s*(\d+\.\d+)\]/.exec(line)?.[1];
  if (sinceBoot !== undefined) return after(bootedAt, Number(sinceBoot) * MS_PER_S);
  const kmsg = /^\d+,\d+,(\d+),[^;]*;/.exec(line)?.[1];
  if (kmsg !== undefined) return after(bootedAt, Number(kmsg) / MS_PER_S);
  const date = /^(?:\[([A-Z][a-z]{2} [A-Z][a-z]{2} .*?\d{4})\]|(\d{4}-\d\d-\d\dT[\d:.,+-]+Z?))/.exec(line);
  const text = date?.[1] === undefined ? date?.[2]?.replace(',', '.') : `${date[1]} UTC`;
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time);
};

const after = (bootedAt: Date | null, ms: number): Date | null =>
  bootedAt === null ? null : new Date(bootedAt.getTime() + ms);
