/**
 * One health check, with its memory: the devices seen before, the boot ID, and since when each alert exists. The memory
 * is a file, so a restart of the agent neither loses an alert nor makes it new. Losing the file is harmless: the next
 * check starts from the current state.
 */
import { join } from 'node:path';
import type { Fact, HealthReport, HostFacts } from '@gpuaas/contract/node';
import { readKeySets } from '../authorized-keys.ts';
import { readIfThere, writeDurably } from '../control-plane/durable.ts';
import type { Host } from '../host/host.ts';
import { readLeases } from '../leases.ts';
import { NO_IDS } from '../topology/device-ids.ts';
import { isAccelerator } from '../topology/kinds.ts';
import { factOf } from '../topology/read.ts';
import { alertKey, type Expectation, type HealthFacts, type Held } from './alert.ts';
import { tenantDisks, unusedDisks } from './disk-use-check.ts';
import { healthReport } from './report.ts';

export type Probe = Readonly<{ host: Host; state: string; now(): Date }>;

const pathOf = (state: string): string => join(state, 'health.json');

/** Files of older agents lack the fields about unused disks. */
type Stored = Omit<Expectation, 'unused_disks' | 'tenant_disks'> & Partial<Expectation>;

const readExpectation = async (state: string): Promise<Stored | null> => {
  const text = await readIfThere(pathOf(state));
  try {
    return text === undefined ? null : (JSON.parse(text) as Stored);
  } catch {
    return null;
  }
};

const keep = async (state: string, before: Stored | null, after: Expectation): Promise<void> => {
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

const readHeld = (state: string): Promise<Fact<Held>> =>
  fact(
    Promise.all([readLeases(state), readKeySets(state)]).then(([{ leases }, keySets]) => ({
      disk_serials: leases.flatMap(({ slots }) => slots.map(({ nvme_serial }) => nvme_serial)),
      is_whole: keySets.some(({ username }) => username !== null),
    })),
  );

/** An allocation that began or ended while the disks were read has them too. */
const heldMeanwhile = (before: Fact<Held>, after: Fact<Held>): Fact<Held> => {
  if (!('value' in before)) return before;
  if (!('value' in after)) return after;
  return {
    value: {
      disk_serials: [...before.value.disk_serials, ...after.value.disk_serials],
      is_whole: before.value.is_whole || after.value.is_whole,
    },
  };
};

const readFacts = async ({ host, state, now }: Probe): Promise<HealthFacts> => {
  const heldBefore = await readHeld(state);
  const [system, pci, gpus, disks, fabric] = await Promise.all([
    fact(host.system.facts()),
    listed(host.pci.list()),
    listed(host.gpu.list()),
    listed(host.disks.list()),
    fact(host.fabric.facts()),
  ]);
  const { accelerators } = host.devices ?? NO_IDS;
  const held = heldMeanwhile(heldBefore, await readHeld(state));
  return { observed_at: now().toISOString(), system, pci, gpus, disks, fabric, accelerators, held };
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
  const before: Expectation = {
    ...{ ...seen, unused_disks: unusedDisks(facts), tenant_disks: [], boot_id: null, boot_changed: null, since: {} },
    ...stored,
  };
  const report = healthReport(facts, log, before);
  const bootId = factOf(facts.system)?.boot_id ?? before.boot_id;
  await keep(probe.state, stored, {
    // A device seen once is expected until the next discovery.
    gpu_addresses: union(before.gpu_addresses, seen.gpu_addresses),
    disk_serials: union(before.disk_serials, seen.disk_serials),
    unused_disks: before.unused_disks,
    tenant_disks: tenantDisks(facts, before),
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
 * expected. It does not compare how disks are used: a disk that was unused stays expected so.
 */
export const expectDiscovered = async (
  state: string,
  facts: Pick<HostFacts, 'pci' | 'disks' | 'system'>,
  slotDisks: readonly string[],
  accelerators: readonly string[] = [],
): Promise<void> => {
  const stored = await readExpectation(state);
  // Unreadable is not missing: the old expectation stays.
  if (factOf(facts.pci) === null || factOf(facts.disks) === null) return;
  const unused = new Set([
    ...unusedDisks({ disks: facts.disks, held: await readHeld(state) }),
    ...(stored?.unused_disks ?? []),
  ]);
  await keep(state, stored, {
    ...seenIn(facts, accelerators),
    unused_disks: slotDisks.filter((serial) => unused.has(serial)).toSorted(),
    tenant_disks: stored?.tenant_disks ?? [],
    boot_id: stored?.boot_id ?? factOf(facts.system)?.boot_id ?? null,
    boot_changed: stored?.boot_changed ?? null,
    since: stored?.since ?? {},
  });
};
