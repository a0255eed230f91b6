/** The recording of a VM with one H200, which is only read. */
import { fileURLToPath } from 'node:url';
import { hostUnderTest } from '../src/host/contract/subject.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';

export const recordedHost = hostUnderTest({
  name: 'linux on a recorded H200 guest',
  kind: 'linux',
  capabilities: { parts: ['pci', 'disks', 'network', 'gpu', 'system'], slots: 0, arrange: [] },
  simulated: [],
  make: async () => ({
    host: createLinuxHost({ root: fileURLToPath(new URL('recordings/h200-guest', import.meta.url)) }),
    image: 'none',
    slots: [],
    arrange: {},
    close: async () => undefined,
  }),
});
