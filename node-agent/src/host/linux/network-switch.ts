/** Ports and flows of the bridge. Changes are read back, and a difference is an error. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BASE_COOKIE,
  baseFlows,
  claimantIn,
  claimMatch,
  cookiesIn,
  flowDifferences,
  guestFlows,
  ISOLATED_VLAN,
  OWN_COOKIE,
  portCookie,
} from '../../vm/ovs.ts';
import type { PrivateNetwork } from '../../vm/private-network.ts';
import { HostError, type Port } from '../host.ts';
import { referencesOf, rowsOf } from './network.ts';
import { act, type NetworkConfig } from './network-config.ts';
import type { Run } from './run.ts';

/** Lower numbers are assigned by the switch itself. */
const FIRST_NUMBER = 1000;
const OVS = ['ovs-vsctl', '--timeout=10'] as const;

/** A port of the bridge as the switch has it. */
export type SwitchPort = Readonly<{
  name: string;
  /** Its number, or the one reserved until its device appears with the VM. */
  ofport: number | null;
  /** Null for an unmanaged port. */
  port: Port | null;
}>;
export type SwitchState = Readonly<{
  numbers: ReadonlySet<number>;
  /** Null: there is no such bridge. */
  ports: readonly SwitchPort[] | null;
  /** Of other bridges. */
  elsewhere: readonly string[];
}>;

export type Switch = Readonly<{
  read(): Promise<SwitchState>;
  /** The bridge keeps its own address, and the flows shared by all VMs are installed. */
  ensureBase(): Promise<void>;
  removeBase(): Promise<void>;
  ensurePort(port: Port): Promise<number>;
  removePort(name: string): Promise<void>;
  /** True if they had to be installed. */
  ensureFlows(port: Port, ofport: number): Promise<boolean>;
  removeFlows(cookie: string): Promise<void>;
  /** Cookies of the agent for which the switch has flows. */
  cookies(): Promise<readonly string[]>;
  claimant(port: Port): Promise<string | null>;
}>;

/** ["map", [[key, value], …]] */
const mapOf = (value: unknown): ReadonlyMap<string, string> =>
  Array.isArray(value) && value[0] === 'map' && Array.isArray(value[1])
    ? new Map(value[1].map((pair: unknown) => (Array.isArray(pair) ? [String(pair[0]), String(pair[1])] : ['', ''])))
    : new Map();

const portOf = (name: string, ids: ReadonlyMap<string, string>): Port | null => {
  const [mac, ip, allocation] = ['gpuaas_mac', 'gpuaas_ip', 'gpuaas_allocation_id'].map((key) => ids.get(key));
  return mac === undefined || ip === undefined || allocation === undefined
    ? null
    : { name, mac_address: mac, private_ip: ip, allocation_id: allocation };
};

const isNumber = (value: unknown): value is number => typeof value === 'number' && value > 0;
const numberOf = (device: Readonly<Record<string, unknown>> = {}): number | null =>
  [device['ofport'], device['ofport_request']].find(isNumber) ?? null;

const readState = async (run: Run, bridge: string): Promise<SwitchState> => {
  const list = (table: string, columns: string) => ['--', `--columns=${columns}`, 'list', table];
  const text = await act(run, [
    ...OVS,
    '--format=json',
    ...list('Bridge', 'name,ports'),
    ...list('Port', '_uuid,name,external_ids'),
    ...list('Interface', 'name,ofport,ofport_request'),
  ]);
  const [bridges = [], ports = [], interfaces = []] = text.trim().split('\n').map(rowsOf);
  const devices = new Map(interfaces.map((row) => [String(row['name']), row]));
  const nameOf = new Map(ports.map((row) => [referencesOf(row['_uuid'])[0], row]));
  const portsOf = (row: Readonly<Record<string, unknown>>): readonly SwitchPort[] =>
    referencesOf(row['ports']).flatMap((id) => {
      const found = nameOf.get(id);
      if (found === undefined) return [];
      const name = String(found['name']);
      return [{ name, ofport: numberOf(devices.get(name)), port: portOf(name, mapOf(found['external_ids'])) }];
    });
  const own = bridges.find((row) => row['name'] === bridge);
  return {
    numbers: new Set(interfaces.flatMap((row) => [row['ofport'], row['ofport_request']].filter(isNumber))),
    ports: own === undefined ? null : portsOf(own),
    elsewhere: bridges.filter((row) => row !== own).flatMap((row) => portsOf(row).map(({ name }) => name)),
  };
};

/** The lowest free number. */
const freeNumber = (taken: ReadonlySet<number>): number => {
  let number = FIRST_NUMBER;
  while (taken.has(number)) number += 1;
  return number;
};

const quoted = (key: string, value: string): string => `external_ids:${key}=${JSON.stringify(value)}`;

export const createSwitch = (run: Run, config: NetworkConfig, network: PrivateNetwork): Switch => {
  const { bridge } = network;
  const vsctl = (...argv: readonly string[]): Promise<string> => act(run, [...OVS, ...argv]);
  const install = (cookie: string, flows: readonly string[]): Promise<string> =>
    // In one bundle: the switch applies all of it or nothing.
    act(
      run,
      ['ovs-ofctl', '--bundle', 'add-flows', bridge, '-'],
      [`delete cookie=${cookie}/-1`, ...flows, ''].join('\n'),
    );

  const differences = async (flows: readonly string[], cookies: readonly string[]): Promise<readonly string[]> => {
    const file = join(config.folder, `${cookies.at(-1)}.flows`);
    await mkdir(config.folder, { recursive: true });
    try {
      await writeFile(file, `${flows.join('\n')}\n`);
      const { status, stdout, stderr } = await run({
        argv: ['ovs-ofctl', 'diff-flows', bridge, file],
        recorded: 'ovs-ofctl-diff-flows.txt',
      });
      if (status !== 0 && status !== 2)
        throw new HostError('host_error', `ovs-ofctl could not compare the flows of ${bridge}: ${stderr.trim()}`);
      return flowDifferences(stdout, cookies);
    } finally {
      await rm(file, { force: true });
    }
  };
  /** Unchanged if they are already correct: the switch keeps state beside them. */
  const ensure = async (name: string, cookie: string, flows: readonly string[]): Promise<boolean> => {
    if ((await differences(flows, [cookie])).length === 0) return false;
    await install(cookie, flows);
    const [first, ...others] = await differences([...baseFlows(network), ...flows], [BASE_COOKIE, cookie]);
    if (first === undefined) return true;
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    throw new HostError('host_error', `the switch does not have the flows of ${name} as installed: ${first}${more}`);
  };

  return {
    read: () => readState(run, bridge),
    ensureBase: async () => {
      // VMs cache the gateway's MAC; the switch would choose another whenever a port is added or removed.
      const [address, pinned] = (
        await vsctl(
          'get',
          'Interface',
          bridge,
          'mac_in_use',
          '--',
          '--if-exists',
          'get',
          'Bridge',
          bridge,
          'other_config:hwaddr',
        )
      )
        .split('\n')
        .map((line) => line.trim());
      if (!pinned && address) await vsctl('set', 'Bridge', bridge, `other_config:hwaddr=${address}`);
      await ensure(bridge, BASE_COOKIE, baseFlows(network));
    },
    removeBase: async () => {
      await act(run, ['ovs-ofctl', 'del-flows', bridge, `cookie=${BASE_COOKIE}/-1`]);
    },
    ensurePort: async ({ name, mac_address, private_ip, allocation_id }) => {
      const before = await readState(run, bridge);
      const there = before.ports?.find((one) => one.name === name)?.ofport ?? null;
      const ofport = there ?? freeNumber(before.numbers);
      // Its device may appear later, with the VM. Flows need the number, so it is reserved now.
      await vsctl(
        ...['--', '--may-exist', 'add-port', bridge, name],
        ...['--', 'set', 'Port', name, `tag=${ISOLATED_VLAN}`, 'vlan_mode=access', 'protected=true'],
        ...[quoted('gpuaas_mac', mac_address), quoted('gpuaas_ip', private_ip)],
        quoted('gpuaas_allocation_id', allocation_id),
        ...['--', 'set', 'Interface', name, `ofport_request=${ofport}`],
      );
      const found = (await readState(run, bridge)).ports?.find((one) => one.name === name);
      if (found?.ofport !== ofport || found.port === null)
        throw new HostError('host_error', `the switch did not accept port ${name} as number ${ofport}`);
      return ofport;
    },
    removePort: async (name) => {
      await vsctl('--', '--if-exists', 'del-port', bridge, name);
    },
    ensureFlows: (port, ofport) => ensure(port.name, portCookie(port.name), guestFlows(network, { ...port, ofport })),
    removeFlows: async (cookie) => {
      await act(run, ['ovs-ofctl', 'del-flows', bridge, `cookie=${cookie}/-1`]);
    },
    cookies: async () =>
      cookiesIn(await act(run, ['ovs-ofctl', '--no-stats', 'dump-flows', bridge, `cookie=${OWN_COOKIE}`])),
    claimant: async (port) =>
      claimantIn(
        await act(run, ['ovs-ofctl', '--no-stats', 'dump-flows', bridge, claimMatch(port.name)]),
        port.private_ip,
      ),
  };
};
