/**
 * Address translation and the host's own wall, in a table that is ours alone and is always written as a whole: what it
 * should hold is what it holds, whatever was there. Guests leave by the uplink with the host's address; answers come back;
 * nothing begins towards a guest but what the host itself begins, and of the host guests reach names and addresses only.
 */
import { interfaceName, ipv4 } from './grammar.ts';
import type { PrivateNetwork } from './private-network.ts';

export const NFT_FAMILY = 'inet';
/** One bridge, one table; interface names may hold what names of tables may not. */
export const nftTable = (bridge: string): string => `gpuaas_${bridge.replaceAll(/[^A-Za-z0-9]/g, '_')}`;

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
export const nftScript = (network: PrivateNetwork, uplink: string | null, guests: readonly string[]): string => {
  const table = `${NFT_FAMILY} ${nftTable(network.bridge)}`;
  const elements = guests.map(ipv4).toSorted();
  return [
    `table ${table} {`,
    '}',
    `delete table ${table}`,
    `table ${table} {`,
    '  set guests {',
    '    type ipv4_addr;',
    ...(elements.length === 0 ? [] : [`    elements = { ${elements.join(', ')} };`]),
    '  }',
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

export type NftTable = Readonly<{ guests: readonly string[]; rules: Readonly<Record<string, number>> }>;

/** What the table should read back as. */
export const nftExpected = (network: PrivateNetwork, uplink: string | null, guests: readonly string[]): NftTable => ({
  guests: guests.toSorted(),
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
  const guests = nftables.flatMap(({ set }) => (set?.name === 'guests' ? (set.elem ?? []) : [])).map(String);
  return { guests: guests.toSorted(), rules };
};
