/** Alerts from the kernel log: one per GPU and Xid, however often it was logged. */
import { type Checked, type Found, PREVENT, SHOWN, SUPPRESSED } from './alert.ts';
import { type GpuEvent, gpuEvents } from './kernel-log.ts';

export const checkLog = (lines: readonly string[], bootedAt: Date | null): Checked => {
  const events = gpuEvents(lines, bootedAt);
  const groups = Map.groupBy(events, (event) => `${idOf(event)} ${event.pci_address}`);
  return { name: 'kernel_log', found: [...groups.values()].flatMap(foundOf) };
};

/** An Xid 79 and the line without an Xid report the same event. */
const idOf = (event: GpuEvent): string =>
  event.xid === null || event.xid === 79 ? 'gpu_off_the_bus' : `gpu_xid_${event.xid}`;

const foundOf = (events: readonly GpuEvent[]): readonly Found[] => {
  const [first] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return [];
  const times = events.length === 1 ? 'once' : `${events.length} times`;
  const base = { id: idOf(first), target: first.pci_address, at: first.at };
  if (base.id === 'gpu_off_the_bus')
    return [
      {
        ...base,
        message: `GPU ${first.pci_address} has fallen off the bus (${times}). Release its allocations and power-cycle the host.`,
        tenant_message: 'A GPU of this allocation stopped responding. Release the allocation and launch a new one.',
        classifications: [...PREVENT],
      },
    ];
  const what = `GPU ${first.pci_address}: Xid ${first.xid} (${first.name}), ${times}`;
  return [{ ...base, ...judge(events, last, what) }];
};

type Judged = Pick<Found, 'message' | 'tenant_message' | 'classifications'>;

const judge = (events: readonly GpuEvent[], last: GpuEvent, what: string): Judged => {
  const broken: Judged = {
    message: `${what}. Stop its workload and reset the GPU; replace the GPU if the error returns.`,
    tenant_message: 'A GPU of this allocation reported a hardware error and needs a reset. Save your work.',
    classifications: [...PREVENT],
  };
  switch (last.kind) {
    case 'broken':
      return broken;
    case 'link':
      return events.some((event) => /\bfatal\b/i.test(event.text))
        ? broken
        : { message: `${what}. The link recovered automatically.`, tenant_message: null, classifications: [...SHOWN] };
    case 'recovery':
      return recovery(last, what);
    case 'program':
      return {
        message: `${what}. Caused by the program that used the GPU.`,
        tenant_message:
          'A program in this allocation caused a GPU error and was terminated. Check the program and restart it.',
        classifications: [...SUPPRESSED],
      };
    case 'noise':
      return { message: `${what}. No action is needed.`, tenant_message: null, classifications: [...SUPPRESSED] };
    case 'unsettled':
      return {
        message: `${what}. The catalog names no action; contact the vendor if it recurs.`,
        tenant_message: null,
        classifications: [...SHOWN],
      };
  }
};

/** The driver names the required recovery action; its latest message is used. */
const recovery = (last: GpuEvent, what: string): Judged => {
  const action = /\bto 0x[0-9a-f]+ \((.+?)\)/i.exec(last.text)?.[1] ?? 'unknown';
  if (action.toLowerCase() === 'none')
    return { message: `${what}. No recovery is needed.`, tenant_message: null, classifications: [...SUPPRESSED] };
  return {
    message: `${what}. The driver requests: ${action}.`,
    tenant_message: 'A GPU of this allocation needs a reset. Save your work.',
    classifications: [...PREVENT],
  };
};
