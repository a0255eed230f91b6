/**
 * What a tuned guest's kernel is told of its network: room for what is under way on a fast and long line, and a queue that
 * sends evenly. Set at every boot, before the tenant's own settings, which win. A kernel that lacks one of them keeps its own.
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

/** By /proc, as every image has it. */
export const NETWORK_START = [
  'sh',
  '-c',
  `{ ${Object.entries(SETTINGS)
    .map(([name, value]) => `echo ${value} >/proc/sys/${name.replaceAll('.', '/')};`)
    .join(' ')} } 2>/dev/null; true`,
] as const;
