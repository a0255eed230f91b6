/** The simulated host keeps the contract on each of its profiles. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simSubject } from '../../../test/sim-subject.ts';
import { hostContract } from '../host.contract.ts';
import { PROFILE_NAMES } from './profile.ts';
import { createSimHost } from './sim-host.ts';

for (const profile of PROFILE_NAMES) {
  hostContract(
    `sim ${profile}`,
    async () => {
      const dir = await mkdtemp(join(tmpdir(), 'sim-host-'));
      const host = createSimHost({ dir, name: 'j22u15', profile, disk_bytes: 8 * 1024 ** 2 });
      return simSubject(host, () => rm(dir, { recursive: true, force: true }));
    },
    profile === 'dell-xe9680-h200' ? {} : { lacks: { fabric: 'the profile has no NVSwitch' } },
  );
}
