/** The simulated host keeps the contract on each of its profiles. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostContract, type Subject } from '../host.contract.ts';
import { addFault } from './fault.ts';
import { PROFILE_NAMES, type ProfileName } from './profile.ts';
import { createSimHost } from './sim-host.ts';

const makeSubject = (profile: ProfileName) => async (): Promise<Subject> => {
  const dir = await mkdtemp(join(tmpdir(), 'sim-host-'));
  const host = createSimHost({ dir, name: 'j22u15', profile, disk_bytes: 8 * 1024 ** 2 });
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
      foreignDomain: async (name) => host.defineForeignDomain(name),
      write: (serial, offset, bytes) => host.writeDisk(serial, offset, bytes),
      ignoreShutdown: async () => void addFault(dir, { state: 'guest_ignores_shutdown' }),
      fillImageCache: async () => void addFault(dir, { state: 'image_cache_full' }),
      openSession: async (username) => host.openSession(username),
      restartFabricManager: async () => void addFault(dir, { state: 'fabric_manager_restarted' }),
      reboot: async () => host.reboot(),
    },
    close: () => rm(dir, { recursive: true, force: true }),
  };
};

for (const profile of PROFILE_NAMES) {
  hostContract(
    `sim ${profile}`,
    makeSubject(profile),
    profile === 'dell-xe9680-h200' ? {} : { lacks: { fabric: 'the profile has no NVSwitch' } },
  );
}
