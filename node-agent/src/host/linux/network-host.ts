/** The network of a real host: facts, and the ports of VMs. */
import type { PciFunction } from '@gpuaas/contract/node';
import { privateNetwork } from '../../vm/private-network.ts';
import { HostError, type Network } from '../host.ts';
import type { Files } from './files.ts';
import { readNetwork } from './network.ts';
import { NETWORK_DEFAULTS, type NetworkConfig, networkRun } from './network-config.ts';
import { createPorts } from './network-ports.ts';
import { refuseUnready, uplinkName } from './network-ready.ts';
import { listNics } from './nics.ts';
import type { Run } from './run.ts';

export type GivenNetwork = Readonly<{
  files: Files;
  run: Run;
  pci(): Promise<readonly PciFunction[]>;
  config: NetworkConfig | undefined;
  isRecording: boolean;
}>;

/** Why a VM cannot be attached now, in words; null if it can. */
const unreadyOf = async (files: Files, run: Run, config: NetworkConfig): Promise<string | null> => {
  try {
    await refuseUnready(run, privateNetwork(config), await uplinkName(files, config.uplink));
    return null;
  } catch (error) {
    if (error instanceof HostError) return error.message;
    throw error;
  }
};

export const createNetwork = ({ files, run, pci, config = NETWORK_DEFAULTS, isRecording }: GivenNetwork): Network => {
  const read = {
    facts: async () => {
      const facts = await readNetwork(files, networkRun(run, config), config.command_prefix.length > 0);
      return isRecording ? facts : { ...facts, unready: await unreadyOf(files, networkRun(run, config), config) };
    },
    nics: async () => listNics(files, await pci()),
  };
  const refuse = async (): Promise<never> => {
    throw new HostError('unsupported', 'A recording can only be read.');
  };
  return isRecording
    ? { ...read, attach: refuse, detach: refuse, ports: refuse, remains: refuse, lease: refuse, restore: refuse }
    : { ...read, ...createPorts({ config, files, run }) };
};
