/**
 * One health check, with its memory: the devices seen before, the boot ID, and since when each alert exists. The memory
 * is a file, so a restart of the agent neither loses an alert nor makes it new. Losing the file is harmless: the next
 * check starts from the current state.
 */
import { join } from 'node:path';
import type { Fact, HealthReport, HostFacts } from '@gpuaas/contract/node';
import { readIfThere, writeDurably } from '../control-plane/durable.ts';
import type { Host } from '../host/host.ts';
import { NO_IDS } from '../topology/device-ids.ts';
import { isAccelerator } from '../topology/kinds.ts';
import { factOf } from '../topology/read.ts';
import { alertKey, type Expectation, type HealthFacts } from './alert.ts';
import { healthReport } from './report.ts';

export type Probe = Readonly<{ host: Host; state: string; now(): Date }>;

const pathOf = (state: string): string => join(state, 'health.json');

const readExpectation = async (state: string): Promise<Expectation | null> => {
  const text = await readIfThere(pathOf(state));
  try {
    return text === undefined ? null : (JSON.parse(text) as Expectation);
  } catch {
    return null;
  }
};

const keep = async (state: string, before: Expectation | null, after: Expectation): Promise<void> => {
  const text = JSON.stringify(after);
  if (JSON.stringify(before) !== text) await writeDurably(pathOf(state), text);
};

const fact = async <T>(read: Promise<T>): Promise<Fact<T>> => {
  try {
    return { value: await read };
  } catch (err) {
    return { unreadable: err instanceof Error ? err.message : String(err) };
  }
};
const listed = <T>(read: Promise<readonly T[]>): Promise<Fact<T[]>> => fact(read.then((list) => [...list]));

const readFacts = async ({ host, now }: Probe): Promise<HealthFacts> => {
  const [system, pci, gpus, disks, fabric] = await Promise.all([
    fact(host.system.facts()),
    listed(host.pci.list()),
    listed(host.gpu.list()),
    listed(host.disks.list()),
    fact(host.fabric.facts()),
  ]);
  const { accelerators } = host.devices ?? NO_IDS;
  return { observed_at: now().toISOString(), system, pci, gpus, disks, fabric, accelerators };
};

const seenIn = (
  facts: Pick<HostFacts, 'pci' | 'disks'>,
  accelerators: readonly string[],
): Pick<Expectation, 'gpu_addresses' | 'disk_serials'> => ({
  gpu_addresses: (factOf(facts.pci) ?? []).filter((pci) => isAccelerator(pci, accelerators)).map((pci) => pci.address),
  disk_serials: (factOf(facts.disks) ?? []).flatMap((disk) => disk.serial ?? []),
});

const union = (a: readonly string[], b: readonly string[]): readonly string[] => [...new Set([...a, ...b])].toSorted();

export const probeHealth = async (probe: Probe): Promise<HealthReport> => {
  const [facts, log, stored] = await Promise.all([
    readFacts(probe),
    fact(probe.host.system.kernelLog()),
    readExpectation(probe.state),
  ]);
  const seen = seenIn(facts, facts.accelerators);
  const before: Expectation = stored ?? { ...seen, boot_id: null, boot_changed: null, since: {} };
  const report = healthReport(facts, log, before);
  const bootId = factOf(facts.system)?.boot_id ?? before.boot_id;
  await keep(probe.state, stored, {
    // A device seen once is expected until the next discovery.
    gpu_addresses: union(before.gpu_addresses, seen.gpu_addresses),
    disk_serials: union(before.disk_serials, seen.disk_serials),
    boot_id: bootId,
    boot_changed:
      before.boot_id !== null && bootId !== before.boot_id
        ? { from: before.boot_id, seen_at: facts.observed_at }
        : before.boot_changed,
    since: Object.fromEntries(report.alerts.map((alert) => [alertKey(alert), alert.since])),
  });
  return report;
};

/**
 * Discovery reports the devices to the control plane, which compares them with the approved ones: from now on they are
 * expected.
 */
export const expectDiscovered = async (
  state: string,
  facts: Pick<HostFacts, 'pci' | 'disks' | 'system'>,
  accelerators: readonly string[] = [],
): Promise<void> => {
  const stored = await readExpectation(state);
  // Unreadable is not missing: the old expectation stays.
  if (factOf(facts.pci) === null || factOf(facts.disks) === null) return;
  await keep(state, stored, {
    ...seenIn(facts, accelerators),
    boot_id: stored?.boot_id ?? factOf(facts.system)?.boot_id ?? null,
    boot_changed: stored?.boot_changed ?? null,
    since: stored?.since ?? {},
  });
};
