/** The host's own network: Open vSwitch, forwarding and address translation. */
import type { NetworkFacts } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { jsonOf, outputOf, type Run } from './run.ts';

const OVS_TIMEOUT = '--timeout=10';

/** A table of `ovs-vsctl --format=json`: rows by heading. */
export const rowsOf = (text: string): readonly Readonly<Record<string, unknown>>[] => {
  const table = jsonOf(text, 'ovs-vsctl') as { headings?: unknown; data?: unknown };
  if (!Array.isArray(table.headings) || !Array.isArray(table.data))
    throw new HostError('host_error', 'ovs-vsctl printed no table.');
  const headings = table.headings.map(String);
  return table.data.map((row: unknown) =>
    Object.fromEntries(headings.map((heading, index) => [heading, Array.isArray(row) ? row[index] : undefined])),
  );
};

/** One reference is ["uuid", id]; several are ["set", [["uuid", id], …]]. */
export const referencesOf = (value: unknown): readonly string[] => {
  if (!Array.isArray(value)) return [];
  if (value[0] === 'uuid') return [String(value[1])];
  return value[0] === 'set' && Array.isArray(value[1]) ? value[1].flatMap(referencesOf) : [];
};

export const bridgesOf = (bridges: string, ports: string): readonly Readonly<{ name: string; ports: string[] }>[] => {
  const names = new Map(rowsOf(ports).map((row) => [referencesOf(row['_uuid'])[0] ?? '', String(row['name'])]));
  return rowsOf(bridges).map((row) => ({
    name: String(row['name']),
    ports: referencesOf(row['ports'])
      .flatMap((id) => names.get(id) ?? [])
      .sort(),
  }));
};

/** First addresses by interface, from `ip -json addr`. */
export const addressesOf = (text: string): ReadonlyMap<string, string> => {
  const links = jsonOf(text, 'ip') as readonly Readonly<{
    ifname?: string;
    addr_info?: readonly Readonly<{ family?: string; local?: string; prefixlen?: number }>[];
  }>[];
  return new Map(
    links.flatMap(({ ifname, addr_info = [] }) => {
      const first = addr_info.find((one) => one.family === 'inet');
      return ifname && first?.local ? [[ifname, `${first.local}/${first.prefixlen ?? 32}`] as const] : [];
    }),
  );
};

const versionOf = async (run: Run): Promise<string | null> => {
  try {
    const text = await outputOf(run, { argv: ['ovs-vsctl', '--version'], recorded: 'ovs-vsctl-version.txt' });
    return /(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? 'unknown';
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return null;
    throw error;
  }
};

const readOvs = async (run: Run): Promise<Pick<NetworkFacts, 'ovs_version' | 'bridges'>> => {
  const ovs_version = await versionOf(run);
  if (ovs_version === null) return { ovs_version, bridges: [] };
  const list = (table: string, columns: string): Promise<string> =>
    outputOf(run, {
      argv: ['ovs-vsctl', OVS_TIMEOUT, '--format=json', `--columns=${columns}`, 'list', table],
      recorded: `ovs-vsctl-list-${table.toLowerCase()}.json`,
    });
  const [bridges, ports, links] = await Promise.all([
    list('Bridge', 'name,ports'),
    list('Port', '_uuid,name'),
    outputOf(run, { argv: ['ip', '-json', 'addr'], recorded: 'ip-addr.json' }),
  ]);
  const addresses = addressesOf(links);
  return {
    ovs_version,
    bridges: bridgesOf(bridges, ports).map((one) => ({ ...one, address: addresses.get(one.name) ?? null })),
  };
};

/** Either tool shows the rules of both. Without one, the rules are unknown. */
const hasMasquerade = async (run: Run): Promise<boolean> => {
  const commands = [
    { argv: ['nft', '--stateless', 'list', 'ruleset'], recorded: 'nft-list-ruleset.txt' },
    { argv: ['iptables-save', '--table', 'nat'], recorded: 'iptables-save-nat.txt' },
  ] as const;
  let missing = 0;
  for (const command of commands)
    try {
      if (/\bmasquerade\b/i.test(await outputOf(run, command))) return true;
    } catch (error) {
      if (!(error instanceof HostError) || error.code !== 'unsupported') throw error;
      missing += 1;
    }
  if (missing === commands.length)
    throw new HostError('unsupported', 'Neither nft nor iptables-save can list the NAT rules.');
  return false;
};

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';

/** Each namespace has its own setting: if the network is in one, it is read by a command that runs there. */
export const readNetwork = async (files: Files, run: Run, isElsewhere: boolean): Promise<NetworkFacts> => {
  const [ovs, forwarding, has_masquerade] = await Promise.all([
    readOvs(run),
    isElsewhere ? outputOf(run, { argv: ['cat', FORWARDING], recorded: 'ip-forward.txt' }) : files.text(FORWARDING),
    hasMasquerade(run),
  ]);
  return { ...ovs, ip_forwarding: forwarding.trim() === '1', has_masquerade };
};
