/**
 * Port security as flows. A VM may send ARP about its own address to the gateway, send DHCP requests, and send IPv4
 * from its own MAC and address to the gateway and beyond. Everything else it sends is dropped: other sources, traffic
 * to other VMs, DHCP server replies, IPv6 with router advertisements, link-local addresses. Frames for VMs come only
 * from the host and go to the port that owns the address.
 *
 * The flows of a VM carry a cookie derived from the port's name, so that they can be found and removed without a list.
 * Every port is also in a VLAN for isolated ports and protected: a switch that has lost its flows, and falls back to
 * normal switching, connects it to nothing.
 */
import { createHash } from 'node:crypto';
import type { Guest, PrivateNetwork } from './private-network.ts';

export const ISOLATED_VLAN = 4094;

const OURS = '6770';
export const OWN_COOKIE = `0x${OURS}000000000000/0xffff000000000000`;
export const BASE_COOKIE = `0x${OURS}000000000000`;
export const portCookie = (name: string): string =>
  `0x${OURS}${createHash('sha256').update(name).digest('hex').slice(0, 12)}`;

const TABLE = { from_guest: 40, destination: 41, dhcp_reply: 43, claims: 44 } as const;
/** How long a broadcast reply of the DHCP server goes to the VM that asked last. */
const REPLY_S = 5;
/** How long another claimant of a VM's address is remembered. */
const CLAIM_S = 60;

type Flow = Readonly<{ table: number; priority: number; match: string; actions: string }>;

const render = (cookie: string, { table, priority, match, actions }: Flow): string =>
  `cookie=${cookie},table=${table},priority=${priority},${match},actions=${actions}`;

const NOWHERE = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'];

/** The flows shared by all VMs of the bridge. */
export const baseFlows = ({ network, gateway, denied_networks }: PrivateNetwork): readonly string[] => {
  const to = (priority: number, match: string, actions: string): Flow => ({
    table: TABLE.destination,
    priority,
    match,
    actions,
  });
  const flows: readonly Flow[] = [
    {
      table: 0,
      priority: 195,
      match: 'udp,in_port=LOCAL,dl_dst=ff:ff:ff:ff:ff:ff,tp_src=67,tp_dst=68',
      actions: `resubmit(,${TABLE.dhcp_reply})`,
    },
    ...NOWHERE.map((where) => to(120, `ip,nw_dst=${where}`, 'drop')),
    to(110, `udp,nw_dst=${gateway},tp_dst=53`, 'LOCAL'),
    to(110, `tcp,nw_dst=${gateway},tp_dst=53`, 'LOCAL'),
    // Replies to connections of the host; the host's own filter tracks them.
    to(105, `tcp,nw_dst=${gateway},tcp_flags=+ack`, 'LOCAL'),
    to(105, `icmp,nw_dst=${gateway},icmp_type=0`, 'LOCAL'),
    to(100, `ip,nw_dst=${network.text}`, 'drop'),
    ...denied_networks.map((denied) => to(90, `ip,nw_dst=${denied.text}`, 'drop')),
    to(1, 'ip', 'LOCAL'),
  ];
  return flows.map((flow) => render(BASE_COOKIE, flow));
};

/** What one VM may send, and what reaches it. */
export const guestFlows = (
  { gateway }: PrivateNetwork,
  { name, mac_address: mac, private_ip: ip, ofport }: Guest & Readonly<{ ofport: number }>,
): readonly string[] => {
  const cookie = portCookie(name);
  const guest = `in_port=${ofport},dl_src=${mac}`;
  const reply = [
    `table=${TABLE.dhcp_reply}`,
    `hard_timeout=${REPLY_S}`,
    'priority=1',
    `cookie=${cookie}`,
    'eth_type=0x800,eth_dst=ff:ff:ff:ff:ff:ff,nw_proto=17,udp_src=67,udp_dst=68',
    'output:NXM_OF_IN_PORT[]',
  ];
  const claim = [
    `table=${TABLE.claims}`,
    `hard_timeout=${CLAIM_S}`,
    'priority=1',
    `cookie=${cookie}`,
    'eth_type=0x806,NXM_OF_ETH_SRC[],NXM_OF_ARP_SPA[]',
  ];
  const ask = `learn(${reply.join(',')}),LOCAL`;
  const from = (priority: number, match: string, actions: string): Flow => ({
    table: TABLE.from_guest,
    priority,
    match,
    actions,
  });
  const top = (priority: number, match: string, actions: string): Flow => ({ table: 0, priority, match, actions });
  const flows: readonly Flow[] = [
    top(210, `in_port=${ofport}`, `resubmit(,${TABLE.from_guest})`),
    top(200, `arp,in_port=LOCAL,arp_spa=${gateway},arp_tpa=${ip}`, `output:${ofport}`),
    top(200, `ip,in_port=LOCAL,dl_dst=${mac},nw_dst=${ip}`, `output:${ofport}`),
    // Any other device that claims the address on this bridge is dropped, but recorded.
    top(180, `arp,arp_spa=${ip}`, `learn(${claim.join(',')})`),
    from(130, `udp,in_port=${ofport},tp_src=67`, 'drop'),
    from(120, `udp,${guest},nw_src=0.0.0.0,nw_dst=255.255.255.255,tp_src=68,tp_dst=67`, ask),
    from(120, `udp,${guest},nw_src=${ip},nw_dst=255.255.255.255,tp_src=68,tp_dst=67`, ask),
    from(120, `udp,${guest},nw_src=${ip},nw_dst=${gateway},tp_src=68,tp_dst=67`, ask),
    from(110, `arp,${guest},arp_sha=${mac},arp_spa=${ip},arp_tpa=${gateway}`, 'LOCAL'),
    from(100, `ip,${guest},nw_src=${ip}`, `resubmit(,${TABLE.destination})`),
    from(1, `in_port=${ofport}`, 'drop'),
  ];
  return flows.map((flow) => render(cookie, flow));
};

/** Cookies in the output of the switch, each once. */
export const cookiesIn = (dump: string): readonly string[] => [
  ...new Set([...dump.matchAll(/cookie=(0x[0-9a-f]+)/g)].map(([, cookie = '']) => cookie)),
];

export const claimMatch = (name: string): string => `table=${TABLE.claims},cookie=${portCookie(name)}/-1`;

/** The other claimant of the address, as recorded by the switch; null if there is none. */
export const claimantIn = (dump: string, ip: string): string | null => {
  for (const line of dump.split('\n')) {
    const mac = /dl_src=([0-9a-f:]{17})/.exec(line)?.[1];
    if (mac !== undefined && new RegExp(`arp_spa=${ip.replaceAll('.', '\\.')}(?![\\d.])`).test(line)) return mac;
  }
  return null;
};

/**
 * Differences in `ovs-ofctl diff-flows SWITCH FILE`: missing flows, and unexpected flows under one of these cookies.
 * Other flows, and those the switch learned, are no difference.
 */
export const flowDifferences = (diff: string, cookies: readonly string[]): readonly string[] =>
  diff.split('\n').filter((line) => {
    if (line.startsWith('+')) return true;
    const cookie = /cookie=(0x[0-9a-f]+)/.exec(line)?.[1];
    const isLearned = /^-table=(?:43|44)[, ]/.test(line);
    return line.startsWith('-') && !isLearned && cookie !== undefined && cookies.includes(cookie);
  });
