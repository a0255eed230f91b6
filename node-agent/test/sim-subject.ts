/** A simulated host as the contract suite and its own tests use it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ARRANGEMENTS,
  type HostUnderTest,
  hostUnderTest,
  PARTS,
  type Part,
  type Subject,
} from '../src/host/contract/subject.ts';
import { addFault } from '../src/host/sim/fault.ts';
import { PROFILE_NAMES, PROFILES } from '../src/host/sim/profile.ts';
import { createSimHost, type SimHost } from '../src/host/sim/sim-host.ts';

export type SimCapabilities = Readonly<{ parts: readonly Part[]; slots: number; arrange: typeof ARRANGEMENTS }>;
export type SimSubject = Subject<SimCapabilities>;

export const simSubject = async (host: SimHost, close: () => Promise<void> = async () => {}): Promise<SimSubject> => {
  const { dir } = host;
  const disks = await host.disks.list();
  const deviceOf = (serial: string): string => disks.find((disk) => disk.serial === serial)?.device ?? '';
  return {
    host,
    image: 'ubuntu-24.04-cuda',
    slots: host.slots.map(({ gpu, vf, module_id, serial }) => ({
      gpu,
      vf,
      module_id,
      disk: { serial, device: deviceOf(serial) },
    })),
    arrange: {
      mount: async (serial) => void addFault(dir, { state: 'disk_mounted', serial }),
      hold: async (serial) => void addFault(dir, { state: 'disk_held', serial }),
      widenReset: async (address) => void addFault(dir, { state: 'reset_reaches_neighbours', address }),
      dropOffBus: async (address) => void addFault(dir, { state: 'gpu_off_the_bus', address }),
      foreignDomain: async (name) => host.defineForeignDomain(name),
      write: (serial, offset, bytes) => host.writeDisk(serial, offset, bytes),
      ignoreShutdown: async () => void addFault(dir, { state: 'guest_ignores_shutdown' }),
      fillImageCache: async () => void addFault(dir, { state: 'image_cache_full' }),
      openSession: async (username) => host.openSession(username),
      restartFabricManager: async () => void addFault(dir, { state: 'fabric_manager_restarted' }),
      removeBootKernel: async () => void addFault(dir, { state: 'boot_kernel_missing' }),
      reboot: async () => host.reboot(),
    },
    close,
  };
};

/** One for each profile; a profile without NVSwitches has no fabric. */
export const simHosts: readonly HostUnderTest<SimCapabilities>[] = PROFILE_NAMES.map((profile) =>
  hostUnderTest({
    name: `sim ${profile}`,
    kind: 'sim',
    capabilities: {
      parts: PARTS.filter((part) => part !== 'fabric' || PROFILES[profile].fabric !== null),
      slots: 2,
      arrange: ARRANGEMENTS,
    },
    simulated: [],
    make: async () => {
      const dir = await mkdtemp(join(tmpdir(), 'sim-host-'));
      const host = createSimHost({ dir, name: 'j22u15', profile, disk_bytes: 8 * 1024 ** 2 });
      return simSubject(host, () => rm(dir, { recursive: true, force: true }));
    },
  }),
);
