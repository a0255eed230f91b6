/**
 * Address translation and the host's own wall, in a table that is ours alone and is always written as a whole: what it
 * should hold is what it holds, whatever was there. Guests leave by the uplink with the host's address; answers come back;
 * nothing begins towards a guest but what the host itself begins, and of the host guests reach names and addresses only.
 * On the guests' own devices the host does not listen at all: what comes in there is the switch's.
 */
import { interfaceName, ipv4 } from './grammar.ts';
import type { Guest, PrivateNetwork } from './private-network.ts';

export const NFT_FAMILY = 'inet';
/** One bridge, one table; interface names may hold what names of tables may not. */
export const nftTable = (bridge: string): string => `gpuaas_${bridge.replaceAll(/[^A-Za-z0-9]/g, '_')}`;

/** What the table knows of a guest. */
export type NatGuest = Pick<Guest, 'name' | 'private_ip'>;

type Chain = Readonly<{ name: string; hook: string; rules: readonly string[] }>;

/** With no uplink named, any interface but the bridge leads out. */
const chainsOf = (
  { bridge, network, gateway, denied_networks }: PrivateNetwork,
  uplink: string | null,
): readonly Chain[] => {
  const from = `iifname "${bridge}" ip saddr ${network.text}`;
  const out = uplink === null ? `oifname != "${bridge}"` : `oifname "${interfaceName(uplink)}"`;
  const denied = ['169.254.0.0/16', network.text, ...denied_networks.map(({ text }) => text)];
  return [
    {
      name: 'prerouting',
      hook: 'type filter hook prerouting priority -310; policy accept;',
      rules: ['iifname @ports drop'],
    },
    {
      name: 'input',
      hook: 'type filter hook input priority -10; policy accept;',
      rules: [
        `iifname "${bridge}" meta nfproto ipv6 drop`,
        `iifname "${bridge}" udp sport 68 udp dport 67 accept`,
        `${from} ct state established,related accept`,
        `${from} ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 accept`,
        `${from} drop`,
      ],
    },
    {
      name: 'forward',
      hook: 'type filter hook forward priority -10; policy accept;',
      rules: [
        `iifname "${bridge}" meta nfproto ipv6 drop`,
        `oifname "${bridge}" meta nfproto ipv6 drop`,
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

/** One transaction: afterwards the table is this. */
export const nftScript = (network: PrivateNetwork, uplink: string | null, guests: readonly NatGuest[]): string => {
  const table = `${NFT_FAMILY} ${nftTable(network.bridge)}`;
  const set = (name: string, type: string, elements: readonly string[]): readonly string[] => [
    `  set ${name} {`,
    `    type ${type};`,
    ...(elements.length === 0 ? [] : [`    elements = { ${elements.toSorted().join(', ')} };`]),
    '  }',
  ];
  return [
    `table ${table} {`,
    '}',
    `delete table ${table}`,
    `table ${table} {`,
    ...set(
      'guests',
      'ipv4_addr',
      guests.map(({ private_ip }) => ipv4(private_ip)),
    ),
    ...set(
      'ports',
      'ifname',
      guests.map(({ name }) => `"${interfaceName(name)}"`),
    ),
    ...chainsOf(network, uplink).flatMap(({ name, hook, rules }) => [
      `  chain ${name} {`,
      `    ${hook}`,
      ...rules.map((rule) => `    ${rule}`),
      '  }',
    ]),
    '}',
    '',
  ].join('\n');
};

export type NftTable = Readonly<{
  guests: readonly string[];
  devices: readonly string[];
  rules: Readonly<Record<string, number>>;
}>;

/** What the table should read back as. */
export const nftExpected = (network: PrivateNetwork, uplink: string | null, guests: readonly NatGuest[]): NftTable => ({
  guests: guests.map(({ private_ip }) => private_ip).toSorted(),
  devices: guests.map(({ name }) => name).toSorted(),
  rules: Object.fromEntries(chainsOf(network, uplink).map(({ name, rules }) => [name, rules.length])),
});

type Listed = Readonly<{
  nftables?: readonly Readonly<{
    set?: Readonly<{ name?: string; elem?: readonly unknown[] }>;
    chain?: Readonly<{ name?: string }>;
    rule?: Readonly<{ chain?: string }>;
  }>[];
}>;

/** `nft --json list table`. */
export const nftRead = (json: unknown): NftTable => {
  const { nftables = [] } = json as Listed;
  const rules: Record<string, number> = {};
  for (const { chain, rule } of nftables) {
    if (chain?.name !== undefined) rules[chain.name] ??= 0;
    if (rule?.chain !== undefined) rules[rule.chain] = (rules[rule.chain] ?? 0) + 1;
  }
  const elements = (name: string): readonly string[] =>
    nftables
      .flatMap(({ set }) => (set?.name === name ? (set.elem ?? []) : []))
      .map(String)
      .toSorted();
  return { guests: elements('guests'), devices: elements('ports'), rules };
};
