/** A simulated host as the contract suite and its own tests take it. */
import type { Subject } from '../src/host/host.contract.ts';
import { addFault } from '../src/host/sim/fault.ts';
import type { SimHost } from '../src/host/sim/sim-host.ts';

export const simSubject = async (host: SimHost, close: () => Promise<void> = async () => {}): Promise<Subject> => {
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
      reboot: async () => host.reboot(),
    },
    close,
  };
};
