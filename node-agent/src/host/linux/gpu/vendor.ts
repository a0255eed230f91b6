/**
 * What the agent must know of a GPU vendor, in one record. Everything else in the agent uses the table in vendors.ts, so a
 * new vendor is one file and one row there.
 */
import type { GpuFacts, PciFunction } from '@gpuaas/contract/node';
import type { ToolName } from '../../tools.ts';
import type { Files } from '../files.ts';
import type { Run } from '../run.ts';

/**
 * What an event in the kernel log means for the host. `broken`: reset or repair the GPU before its next use. `link`: that
 * too, if the error was fatal. `recovery`: the driver names the action. `program`: an error of the tenant's program.
 * `unsettled`: the vendor names no action, so the event is shown and prevents nothing.
 */
export type GpuEventKind = 'broken' | 'link' | 'recovery' | 'program' | 'noise' | 'unsettled';

/** `code` is null for a GPU that fell off the bus; the address is as the log has it. */
export type GpuLogEvent = Readonly<{
  code: number | null;
  name: string;
  kind: GpuEventKind;
  address: string;
  text: string;
}>;

export type GpuVendor = Readonly<{
  name: string;
  /** Of its PCI functions. */
  vendor_id: string;
  /** The driver that reports the GPUs of the host. */
  driver: string;
  /** Drivers that release a GPU for vfio-pci. */
  drivers: readonly string[];
  /** The PCI class of switches between its GPUs; null if it has none. */
  switch_class: string | null;
  tool: Readonly<{ name: ToolName; version: readonly [string, ...string[]] }>;
  /** How guests count their GPUs: the lines of a command that begin with this text. Null: guests count on the PCI bus. */
  guest_count: Readonly<{ program: string; flag: string; line: string }> | null;
  /** In order of preference; a method that only the kernel names comes last. */
  reset_methods: readonly string[];
  /** How an operator turns partitioning of a GPU off; null if its GPUs have none. */
  partitioning_off: string | null;
  /** The facts of these functions, all bound to `driver`. Throws if the driver cannot be queried. */
  list(host: Readonly<{ files: Files; run: Run }>, gpus: readonly PciFunction[]): Promise<readonly GpuFacts[]>;
  /** The event that ends on this line of the kernel log; null if there is none. */
  logEvent(lines: readonly string[], index: number): GpuLogEvent | null;
}>;
