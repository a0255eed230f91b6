/** The site's settings for slice networks, and how to reach the programs that configure them. */
import { outputOf, type Run } from './run.ts';

export type NetworkConfig = Readonly<{
  /** Created by the site, with the gateway's address on it. */
  bridge: string;
  network: string;
  gateway: string;
  /**
   * The uplink of VMs: an interface name, or the PCI address of the function behind it (the virtual function of a
   * BlueField if there is one). Null: as the host routes, but not back into the bridge.
   */
  uplink: string | null;
  /** Networks that VMs must not reach although the host could route to them. */
  denied_networks: readonly string[];
  /** Null: those of the host's own resolver. */
  dns_servers: readonly string[] | null;
  lease_s: number;
  /** Of a VM's interface. */
  queues: number;
  /** Reservations, leases and settings of the DHCP server. */
  folder: string;
  /** The prefix of every command, such as `nsenter --net=…` if the switch is in its own namespace. */
  command_prefix: readonly string[];
  /** Where Open vSwitch has its sockets; null: the built-in default. */
  switch_folder: string | null;
}>;

export const NETWORK_DEFAULTS: NetworkConfig = {
  bridge: 'ovsbr0',
  network: '10.100.0.0/24',
  gateway: '10.100.0.1',
  uplink: null,
  denied_networks: [],
  dns_servers: null,
  lease_s: 43_200,
  queues: 1,
  folder: '/var/lib/gpuaas/network',
  command_prefix: [],
  switch_folder: null,
};

/** Commands in the namespace of the network. */
export const networkRun = (run: Run, { command_prefix, switch_folder }: NetworkConfig): Run => {
  const prefix = [...command_prefix, ...(switch_folder === null ? [] : ['env', `OVS_RUNDIR=${switch_folder}`])];
  return (command) => {
    const [first, ...rest] = [...prefix, ...command.argv];
    return run({ ...command, argv: [first ?? command.argv[0], ...rest] });
  };
};

/** A command that changes something, so no recording contains it. */
export const act = (run: Run, argv: readonly [string, ...string[]], input?: string): Promise<string> =>
  outputOf(run, { argv, recorded: `${argv[0]}.txt`, ...(input === undefined ? {} : { input }) });
