/**
 * The network of a Linux host on its own switch, which the cases share. The composed host runs the cases about ports;
 * network-ports.test.ts has those of this host alone.
 */
import { hostUnderTest } from '../src/host/contract/subject.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { labLacks, type NetworkLab, startNetworkLab } from './network-lab.ts';

let shared: NetworkLab | undefined;

export const closeNetworkHost = async (): Promise<void> => {
  await shared?.close();
  shared = undefined;
};

export const networkHost = hostUnderTest({
  name: 'linux with a switch of its own',
  kind: 'linux',
  capabilities: { parts: ['network'], slots: 0, arrange: [] },
  simulated: [],
  missing: labLacks(),
  make: async () => {
    shared ??= await startNetworkLab();
    const host = createLinuxHost({ network: shared.config });
    return {
      host,
      image: 'none',
      slots: [],
      arrange: {},
      close: async () => undefined,
    };
  },
});
