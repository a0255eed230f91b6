/**
 * Address translation and the host firewall, in dedicated tables that are always written as a whole, so that their
 * content is known. VMs leave by the uplink with the host's address; replies come back; only the host itself can open
 * connections to a VM, and on the host VMs reach only DNS and DHCP.
 *
 * On the devices of VMs the host neither receives nor sends: their traffic belongs to the switch. A switch in the
 * kernel ensures that; one in user space leaves the host a copy of each frame, and the host would answer it.
 */
import { interfaceName, ipv4 } from './grammar.ts';
import type { Guest, PrivateNetwork } from './private-network.ts';

/** One bridge has one table in each family; interface names may contain characters that table names may not. */
export const NFT_FAMILIES = ['inet', 'arp'] as const;
export const nftTable = (bridge: string): string => `gpuaas_${bridge.replaceAll(/[^A-Za-z0-9]/g, '_')}`;

/** The entries of a VM in the tables. */
export type NatGuest = Pick<Guest, 'name' | 'private_ip'>;

type Family = (typeof NFT_FAMILIES)[number];
type Elements = Readonly<{ name: string; type: string; elements: readonly string[] }>;
type Chain = Readonly<{ name: string; hook: string; rules: readonly string[] }>;
type Table = Readonly<{ family: Family; sets: readonly Elements[]; chains: readonly Chain[] }>;

const filter = (hook: string, priority: number): string =>
  `type filter hook ${hook} priority ${priority}; policy accept;`;

/** Without a configured uplink any interface but the bridge leads out. */
const chainsOf = (
  { bridge, network, gateway, denied_networks }: PrivateNetwork,
  uplink: string | null,
): readonly Chain[] => {
  const from = `iifname "${bridge}" ip saddr ${network.text}`;
  const out = uplink === null ? `oifname != "${bridge}"` : `oifname "${interfaceName(uplink)}"`;
  const denied = ['169.254.0.0/16', network.text, ...denied_networks.map(({ text }) => text)];
  return [
    { name: 'prerouting', hook: filter('prerouting', -310), rules: ['iifname @ports drop'] },
    { name: 'output', hook: filter('output', -310), rules: ['oifname @ports drop'] },
    {
      name: 'input',
      hook: filter('input', -10),
      rules: [
        `iifname "${bridge}" udp sport 68 udp dport 67 accept`,
        `${from} ct state established,related accept`,
        `${from} ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 accept`,
        `${from} drop`,
      ],
    },
    {
      name: 'forward',
      hook: filter('forward', -10),
      rules: [
        ...denied.map((text) => `${from} ip daddr ${text} drop`),
        `${from} ip saddr @guests ${out} accept`,
        `${from} drop`,
        `oifname "${bridge}" ip daddr @guests ct state established,related accept`,
        `oifname "${bridge}" ip daddr ${network.text} drop`,
      ],
    },
    {
      name: 'postrouting',
      hook: 'type nat hook postrouting priority 100; policy accept;',
      rules: [`ip saddr @guests ip daddr != ${network.text} ${out} masquerade`],
    },
  ];
};

const tablesOf = (network: PrivateNetwork, uplink: string | null, guests: readonly NatGuest[]): readonly Table[] => {
  const ports = { name: 'ports', type: 'ifname', elements: guests.map(({ name }) => interfaceName(name)).toSorted() };
  const addresses = guests.map(({ private_ip }) => ipv4(private_ip)).toSorted();
  return [
    {
      family: 'inet',
      sets: [ports, { name: 'guests', type: 'ipv4_addr', elements: addresses }],
      chains: chainsOf(network, uplink),
    },
    {
      family: 'arp',
      sets: [ports],
      chains: [
        { name: 'input', hook: filter('input', 0), rules: ['iifname @ports drop'] },
        { name: 'output', hook: filter('output', 0), rules: ['oifname @ports drop'] },
      ],
    },
  ];
};

const quoted = ({ type, elements }: Elements): string =>
  elements.map((element) => (type === 'ifname' ? `"${element}"` : element)).join(', ');

/** One transaction that replaces the tables. */
export const nftScript = (network: PrivateNetwork, uplink: string | null, guests: readonly NatGuest[]): string =>
  tablesOf(network, uplink, guests)
    .flatMap(({ family, sets, chains }) => {
      const table = `table ${family} ${nftTable(network.bridge)}`;
      return [
        `${table} {`,
        '}',
        `delete ${table}`,
        `${table} {`,
        ...sets.flatMap((set) => [
          `  set ${set.name} {`,
          `    type ${set.type};`,
          ...(set.elements.length === 0 ? [] : [`    elements = { ${quoted(set)} };`]),
          '  }',
        ]),
        ...chains.flatMap(({ name, hook, rules }) => [
          `  chain ${name} {`,
          `    ${hook}`,
          ...rules.map((rule) => `    ${rule}`),
          '  }',
        ]),
        '}',
        '',
      ];
    })
    .join('\n');

/** By family and name: the content of each set, and the number of rules in each chain. */
export type NftState = Readonly<{
  sets: Readonly<Record<string, readonly string[]>>;
  rules: Readonly<Record<string, number>>;
}>;

/** The expected content when read back. */
export const nftExpected = (network: PrivateNetwork, uplink: string | null, guests: readonly NatGuest[]): NftState => {
  const tables = tablesOf(network, uplink, guests);
  return {
    sets: Object.fromEntries(
      tables.flatMap(({ family, sets }) => sets.map(({ name, elements }) => [`${family} ${name}`, elements])),
    ),
    rules: Object.fromEntries(
      tables.flatMap(({ family, chains }) => chains.map(({ name, rules }) => [`${family} ${name}`, rules.length])),
    ),
  };
};

type Listed = Readonly<{
  nftables?: readonly Readonly<{
    set?: Readonly<{ family?: string; name?: string; elem?: readonly unknown[] }>;
    chain?: Readonly<{ family?: string; name?: string }>;
    rule?: Readonly<{ family?: string; chain?: string }>;
  }>[];
}>;

/** `nft --json list table`, for each existing table. */
export const nftRead = (listings: readonly unknown[]): NftState => {
  const sets: Record<string, readonly string[]> = {};
  const rules: Record<string, number> = {};
  for (const { set, chain, rule } of listings.flatMap((json) => (json as Listed).nftables ?? [])) {
    if (set !== undefined) sets[`${set.family} ${set.name}`] = (set.elem ?? []).map(String).toSorted();
    if (chain !== undefined) rules[`${chain.family} ${chain.name}`] ??= 0;
    const of = `${rule?.family} ${rule?.chain}`;
    if (rule !== undefined) rules[of] = (rules[of] ?? 0) + 1;
  }
  return { sets, rules };
};

export const translatedAddresses = ({ sets }: NftState): readonly string[] => sets['inet guests'] ?? [];
