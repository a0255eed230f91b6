/** Operator settings for slice networks; every variable has a default for a standard bridge. */
import type { ConfigReader } from '@gpuaas/kit';
import { privateNetwork } from '../../vm/private-network.ts';
import { NETWORK_DEFAULTS, type NetworkConfig } from './network-config.ts';

const listOf = (text: string | undefined): readonly string[] | null =>
  text === undefined
    ? null
    : text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean);

/** Where none is named, the gateway is the first address of the network. */
const firstAddress = (network: string): string =>
  network.replace(/\/.*$/, '').replace(/\d+$/, (last) => String(Number(last) + 1));

/** An inbound mapping without an owner outlives its tenant: decision 18 defines the owners. */
const refuseIngress = (read: ConfigReader): void => {
  if ((read.optional('GPUAAS_NODE_PUBLIC_INGRESS') ?? 'none') === 'none') return;
  const lacks = ['GPUAAS_NODE_FIREWALL_OWNER', 'GPUAAS_NODE_IPAM_OWNER'].filter(
    (name) => read.optional(name) === undefined,
  );
  read.problem(
    'GPUAAS_NODE_PUBLIC_INGRESS',
    lacks.length > 0
      ? `is refused: the owner of firewall and addresses is not declared (${lacks.join(', ')})`
      : 'is refused: this agent makes no way in from outside; private_nat is the only network mode',
  );
};

export const readNetworkConfig = (read: ConfigReader): NetworkConfig => {
  refuseIngress(read);
  const network = read.text('GPUAAS_NODE_PRIVATE_NETWORK', NETWORK_DEFAULTS.network);
  const config: NetworkConfig = {
    ...NETWORK_DEFAULTS,
    bridge: read.text('GPUAAS_NODE_BRIDGE', NETWORK_DEFAULTS.bridge),
    network,
    gateway: read.text('GPUAAS_NODE_GATEWAY', firstAddress(network)),
    uplink: read.optional('GPUAAS_NODE_UPLINK') ?? null,
    denied_networks: listOf(read.optional('GPUAAS_NODE_DENIED_NETWORKS')) ?? [],
    dns_servers: listOf(read.optional('GPUAAS_NODE_DNS_SERVERS')),
    queues: read.integer('GPUAAS_NODE_NIC_QUEUES', NETWORK_DEFAULTS.queues, { min: 1, max: 64 }),
    folder: read.text('GPUAAS_NODE_NETWORK_DIR', NETWORK_DEFAULTS.folder),
    switch_folder: read.optional('GPUAAS_NODE_OVS_RUN_DIR') ?? null,
  };
  try {
    privateNetwork(config);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    read.problem('GPUAAS_NODE_BRIDGE, _PRIVATE_NETWORK, _GATEWAY or _DENIED_NETWORKS', `is wrong: ${reason}`);
  }
  return config;
};
