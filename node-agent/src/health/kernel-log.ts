/**
 * GPU events in the kernel log. The vendor finds the event in the text of its driver. The time may be in seconds since
 * boot, a date, or a record of /dev/kmsg.
 */
import type { GpuEventKind } from '../host/linux/gpu/vendor.ts';
import { logEventOf } from '../host/linux/gpu/vendors.ts';

export type GpuEvent = Readonly<{
  /** Null: fallen off the bus, without an Xid. */
  xid: number | null;
  pci_address: string;
  name: string;
  kind: GpuEventKind;
  /** Null if the line does not contain it. */
  at: Date | null;
  text: string;
}>;

/** `PCI:0000:9B:00` and `00000000:9B:00.0` are both `0000:9b:00.0`. */
export const addressOf = (text: string): string => {
  const lower = text.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
  return /\.[0-7]$/.test(lower) ? lower : `${lower}.0`;
};

export const gpuEvents = (lines: readonly string[], bootedAt: Date | null): readonly GpuEvent[] =>
  lines.flatMap((line, index): GpuEvent[] => {
    const event = logEventOf(lines, index);
    if (event === null) return [];
    const { code: xid, kind, name, text } = event;
    return [{ xid, name, pci_address: addressOf(event.address), kind, at: timeOf(line, bootedAt), text }];
  });

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
