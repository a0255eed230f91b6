/** The site's settings for slice networks, and how to reach the programs that configure them. */
import { outputOf, type Run } from './run.ts';

export type NetworkConfig = Readonly<{
  /** Made by the site, with the gateway's address on it. */
  bridge: string;
  network: string;
  gateway: string;
  /**
   * By which guests leave the host: an interface's name, or the PCI address of the function behind it (the virtual
   * function of a BlueField where there is one). Null: wherever the host's routes lead, but not back into the bridge.
   */
  uplink: string | null;
  /** What guests must not reach though the host could route it. */
  denied_networks: readonly string[];
  /** Null: those of the host's own resolver. */
  dns_servers: readonly string[] | null;
  lease_s: number;
  /** Of a VM's interface. */
  queues: number;
  /** Reservations, leases and settings of the address server. */
  folder: string;
  /** Put in front of every command, as `nsenter --net=…` is where the switch lives in a namespace of its own. */
  command_prefix: readonly string[];
  /** Where Open vSwitch keeps its sockets; null: where it was built to. */
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

/** Commands where the network is. */
export const networkRun = (run: Run, { command_prefix, switch_folder }: NetworkConfig): Run => {
  const prefix = [...command_prefix, ...(switch_folder === null ? [] : ['env', `OVS_RUNDIR=${switch_folder}`])];
  return (command) => {
    const [first, ...rest] = [...prefix, ...command.argv];
    return run({ ...command, argv: [first ?? command.argv[0], ...rest] });
  };
};

/** A command that changes something, so that no recording holds it. */
export const act = (run: Run, argv: readonly [string, ...string[]], input?: string): Promise<string> =>
  outputOf(run, { argv, recorded: `${argv[0]}.txt`, ...(input === undefined ? {} : { input }) });
