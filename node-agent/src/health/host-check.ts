/**
 * Checks of the host facts. An unreadable part fails its check with an alert, and prevents allocations where nothing
 * can be concluded without it.
 */

import type { Fact } from '@gpuaas/contract/node';
import { isReportingDriver } from '../host/linux/gpu/vendors.ts';
import { isAccelerator } from '../topology/kinds.ts';
import { factOf, reasonOf } from '../topology/read.ts';
import { type Checked, type Expectation, type Found, type HealthFacts, PREVENT, SHOWN } from './alert.ts';

const HOT_C = 85;
const TOO_HOT_C = 90;
/** How long a restart of the host is reported. */
const BOOT_ALERT_MS = 15 * 60_000;

const TENANT_HARDWARE = 'A GPU of this allocation reported a hardware error and needs a reset. Save your work.';

export const checkReadable = (facts: HealthFacts): Checked => {
  const unreadable = (part: string, fact: Fact<unknown>, classifications = PREVENT): Found[] => {
    const reason = reasonOf(fact);
    if (reason === null) return [];
    const message = `Failed to read the host's ${part}: ${reason}`;
    return [
      {
        id: `unreadable_${part}`,
        target: 'node',
        message,
        tenant_message: null,
        classifications: [...classifications],
      },
    ];
  };
  // If all GPUs are bound to vfio-pci, no driver can report them.
  const isDriven = (factOf(facts.pci) ?? []).some((pci) => isReportingDriver(pci.driver));
  return {
    name: 'facts_readable',
    found: [
      ...unreadable('system', facts.system),
      ...unreadable('pci', facts.pci),
      ...unreadable('disks', facts.disks),
      ...unreadable('gpus', facts.gpus, isDriven ? PREVENT : SHOWN),
      ...unreadable('fabric', facts.fabric, SHOWN),
      // No task can run without them.
      ...unreadable('allocations', facts.held),
    ],
  };
};

export const checkGpuCount = (facts: HealthFacts, expectation: Expectation): Checked => {
  const pci = factOf(facts.pci) ?? [];
  const dead = pci.filter((each) => each.vendor_id === 'ffff' && expectation.gpu_addresses.includes(each.address));
  const present = pci.filter((each) => isAccelerator(each, facts.accelerators)).map((each) => each.address);
  const missing = expectation.gpu_addresses.filter((address) => !present.includes(address));
  if (factOf(facts.pci) === null || missing.length === 0) return { name: 'gpu_count', found: [] };
  const count = `${expectation.gpu_addresses.length - missing.length} of ${expectation.gpu_addresses.length} GPUs`;
  return {
    name: 'gpu_count',
    found: [
      {
        id: 'gpu_count',
        target: 'node',
        message: `${count} are on the host; missing: ${missing.join(', ')}. Reseat or replace them and run discovery again.`,
        tenant_message: null,
        classifications: [...SHOWN],
      },
      ...missing.map((address) => ({
        id: dead.some((each) => each.address === address) ? 'gpu_off_the_bus' : 'gpu_missing',
        target: address,
        message: `GPU ${address} is missing from the host. Power-cycle the host; replace the GPU if it stays missing.`,
        tenant_message: 'A GPU of this allocation stopped responding. Release the allocation and launch a new one.',
        classifications: [...PREVENT],
      })),
    ],
  };
};

export const checkLinks = (facts: HealthFacts): Checked => ({
  name: 'gpu_link_width',
  found: (factOf(facts.pci) ?? [])
    .filter((pci) => isAccelerator(pci, facts.accelerators) && pci.link !== null)
    .flatMap((pci): Found[] => {
      const { width = 0, max_width: max = 0 } = pci.link ?? {};
      // A width of zero means that the device does not report one.
      if (width === 0 || width >= max) return [];
      return [
        {
          id: 'gpu_link_width',
          target: pci.address,
          message: `GPU ${pci.address} runs on ${width} PCIe lanes instead of ${max}. Reseat it or its riser.`,
          tenant_message: 'A GPU of this allocation runs with reduced PCIe bandwidth.',
          classifications: [...PREVENT],
        },
      ];
    }),
});

export const checkEcc = (facts: HealthFacts): Checked => ({
  name: 'gpu_ecc',
  found: (factOf(facts.gpus) ?? [])
    .filter((gpu) => (gpu.ecc_uncorrected ?? 0) > 0)
    .map((gpu) => ({
      id: 'gpu_ecc',
      target: gpu.pci_address,
      message: `GPU ${gpu.pci_address} has ${gpu.ecc_uncorrected} uncorrected memory errors. Reset it; replace it if they recur.`,
      tenant_message: TENANT_HARDWARE,
      classifications: [...PREVENT],
    })),
});

export const checkTemperature = (facts: HealthFacts): Checked => ({
  name: 'gpu_temperature',
  found: (factOf(facts.gpus) ?? [])
    .filter((gpu) => (gpu.temperature_c ?? 0) >= HOT_C)
    .map((gpu) => {
      const isTooHot = (gpu.temperature_c ?? 0) >= TOO_HOT_C;
      return {
        id: 'gpu_temperature',
        target: gpu.pci_address,
        message: `GPU ${gpu.pci_address} is at ${gpu.temperature_c} °C. Check fans and air flow.`,
        tenant_message: isTooHot ? 'A GPU of this allocation is too hot and throttles.' : null,
        classifications: isTooHot ? [...PREVENT] : [...SHOWN],
      };
    }),
});

export const checkFabricManager = (facts: HealthFacts): Checked => {
  const fabric = factOf(facts.fabric);
  const isDown = fabric !== null && fabric.nvswitches.length > 0 && !fabric.manager.is_running;
  return {
    name: 'fabric_manager',
    found: isDown
      ? [
          {
            id: 'fabric_manager_down',
            target: 'node',
            message: `Fabric Manager does not run on a host with ${fabric.nvswitches.length} NVSwitches. Start it; running VMs keep their partitions.`,
            tenant_message: null,
            classifications: [...PREVENT],
          },
        ]
      : [],
  };
};

export const checkDisks = (facts: HealthFacts, expectation: Expectation): Checked => {
  const disks = factOf(facts.disks);
  const present = new Set(disks?.map((disk) => disk.serial));
  return {
    name: 'disks',
    found: expectation.disk_serials
      .filter((serial) => disks !== null && !present.has(serial))
      .map((serial) => ({
        id: 'disk_missing',
        target: serial,
        message: `Disk ${serial} is missing from the host. Reseat or replace it and run discovery again.`,
        tenant_message: 'A disk of this allocation stopped responding.',
        classifications: [...PREVENT],
      })),
  };
};

export const checkBoot = (facts: HealthFacts, expectation: Expectation): Checked => {
  const system = factOf(facts.system);
  const now = Date.parse(facts.observed_at);
  const before =
    expectation.boot_id !== null && system !== null && system.boot_id !== expectation.boot_id
      ? { from: expectation.boot_id, seen_at: facts.observed_at }
      : expectation.boot_changed;
  const isTold = before !== null && now - Date.parse(before.seen_at) < BOOT_ALERT_MS;
  return {
    name: 'boot_id',
    found: isTold
      ? [
          {
            id: 'boot_id_changed',
            target: 'node',
            at: system === null ? null : new Date(system.booted_at),
            message: `The host restarted: boot ${before.from} became ${system?.boot_id ?? 'unknown'}. Its VMs are off and their devices need rebinding.`,
            tenant_message: 'The host of this allocation restarted. VMs that ran on it then were stopped.',
            classifications: [...SHOWN],
          },
        ]
      : [],
  };
};
