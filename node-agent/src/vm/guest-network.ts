/**
 * Network settings of a tuned guest kernel: buffers for a fast link with high latency, and a fair queue. Applied at
 * every boot, before the tenant's own settings, which take precedence. A kernel without one of them keeps its own.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  'net.core.rmem_max': '134217728',
  'net.core.wmem_max': '134217728',
  'net.core.netdev_max_backlog': '30000',
  'net.core.default_qdisc': 'fq',
  'net.ipv4.tcp_rmem': '4096 131072 67108864',
  'net.ipv4.tcp_wmem': '4096 65536 67108864',
  'net.ipv4.tcp_congestion_control': 'bbr',
  'net.ipv4.tcp_mtu_probing': '1',
  'net.ipv4.tcp_slow_start_after_idle': '0',
};

/** Through /proc, which every image has. */
export const NETWORK_START = [
  'sh',
  '-c',
  `{ ${Object.entries(SETTINGS)
    .map(([name, value]) => `echo ${value} >/proc/sys/${name.replaceAll('.', '/')};`)
    .join(' ')} } 2>/dev/null; true`,
] as const;
