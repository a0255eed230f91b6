/** The rendered network configuration of a VM, without a switch: network-ports.test.ts has one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, ConfigReader } from '@gpuaas/kit';
import { HostError } from '../host/host.ts';
import { readNetworkConfig } from '../host/linux/network-settings.ts';
import { dnsmasqConfig, isLive, leaseLines, readReservation, reservation } from './dnsmasq.ts';
import { nftExpected, nftRead, nftScript } from './nft.ts';
import { baseFlows, claimantIn, flowDifferences, guestFlows, portCookie } from './ovs.ts';
import { guestOf, privateNetwork } from './private-network.ts';

const NETWORK = privateNetwork({
  bridge: 'ovsbr0',
  network: '10.100.0.0/24',
  gateway: '10.100.0.1',
  denied_networks: ['10.0.0.0/9'],
});
const GUEST = { name: 'gp000000000001', mac_address: '02:00:00:00:00:01', private_ip: '10.100.0.11' };

test('every flow of a VM matches its port, its MAC or its address, and carries its cookie', () => {
  const flows = guestFlows(NETWORK, { ...GUEST, ofport: 1000 });
  for (const flow of flows) {
    const [match = ''] = flow.split(',actions=');
    assert.ok(match.startsWith(`cookie=${portCookie(GUEST.name)},`), flow);
    assert.match(match, /in_port=1000|dl_dst=02:00:00:00:00:01|=10\.100\.0\.11/, flow);
  }
  assert.ok(flows.every((flow) => !/actions=.*(?:NORMAL|FLOOD|ALL)/.test(flow)));
  assert.ok(baseFlows(NETWORK).every((flow) => !/actions=.*(?:NORMAL|FLOOD|ALL)/.test(flow)));
});

test('a missing or unexpected flow is a difference; flows of others and learned flows are not', () => {
  const ours = portCookie(GUEST.name);
  const diff = [
    `+priority=210,in_port=1000 cookie=${ours} actions=resubmit(,40)`,
    `-priority=5,in_port=1000 cookie=${ours} actions=NORMAL`,
    '-priority=5,in_port=7 cookie=0x6770000000000009 actions=drop',
    `-table=43, priority=1,udp cookie=${ours} actions=output:1000`,
    '-priority=0 actions=NORMAL',
    '',
  ];
  assert.deepEqual(flowDifferences(diff.join('\n'), [ours]), diff.slice(0, 2));
});

test('a duplicate claim of an address is found by the complete address', () => {
  const dump =
    ' cookie=0x1, table=44, hard_timeout=60, priority=1,arp,dl_src=02:00:00:00:00:99,arp_spa=10.100.0.111 actions=drop';
  assert.equal(claimantIn(dump, '10.100.0.111'), '02:00:00:00:00:99');
  assert.equal(claimantIn(dump, '10.100.0.11'), null);
});

test('the tables read back as intended, and a missing rule or VM is detected', () => {
  const expected = nftExpected(NETWORK, 'eno1', [GUEST]);
  const listing = (rules: number) => ({
    nftables: [
      { set: { family: 'inet', name: 'guests', elem: ['10.100.0.11'] } },
      { chain: { family: 'inet', name: 'postrouting' } },
      ...Array.from({ length: rules }, () => ({ rule: { family: 'inet', chain: 'postrouting' } })),
    ],
  });
  assert.deepEqual(nftRead([listing(1)]).rules['inet postrouting'], expected.rules['inet postrouting']);
  assert.notDeepEqual(nftRead([listing(0)]).rules['inet postrouting'], expected.rules['inet postrouting']);
  assert.deepEqual(nftRead([listing(1)]).sets['inet guests'], expected.sets['inet guests']);
  const script = nftScript(NETWORK, 'eno1', [GUEST]);
  assert.match(script, /ip saddr @guests ip daddr != 10\.100\.0\.0\/24 oifname "eno1" masquerade/);
  assert.match(script, /ip daddr 10\.0\.0\.0\/9 drop/);
});

test('reservations read back as written, and DHCP leases expire', () => {
  assert.deepEqual(readReservation(reservation(GUEST)), {
    mac_address: GUEST.mac_address,
    private_ip: GUEST.private_ip,
  });
  assert.equal(readReservation('02:00:00:00:00:01,10.100.0.11,set:x'), null);
  const [one, forever, ...others] = leaseLines(
    'duid 00:01\n100 02:00:00:00:00:AA 10.100.0.11 * *\n0 02:00:00:00:00:02 10.100.0.12 guest 01:02\n100 9 fd00::1 * *\n',
  );
  assert.deepEqual(others, []);
  assert.ok(one && forever);
  assert.equal(one.mac, '02:00:00:00:00:aa');
  assert.deepEqual([isLive(one, 99_000), isLive(one, 101_000), isLive(forever, 101_000)], [true, false, true]);
});

test('an invalid network, gateway, name server or address is refused before it is rendered', () => {
  const given = { bridge: 'ovsbr0', network: '10.100.0.0/24', gateway: '10.100.0.1', denied_networks: [] };
  for (const change of [
    { bridge: 'a"; drop' },
    { network: '10.100.0.5/24' },
    { network: '10.100.0.0/31' },
    { gateway: '10.100.0.0' },
    { gateway: '10.100.1.1' },
    { denied_networks: ['10.0.0.0/8 accept'] },
  ])
    assert.throws(() => privateNetwork({ ...given, ...change }), HostError);
  for (const private_ip of ['10.100.0.0', '10.100.0.1', '10.100.0.255', '10.101.0.1'])
    assert.throws(() => guestOf({ ...GUEST, private_ip }, NETWORK), HostError);
  const files = { hosts: '/x/hosts', leases: '/x/leases', pid: '/x/pid' };
  const plan = { network: NETWORK, lease_s: 60, files };
  assert.throws(() => dnsmasqConfig({ ...plan, dns_servers: ['1.1.1.1\nport=0'] }), HostError);
  assert.match(dnsmasqConfig({ ...plan, dns_servers: ['192.0.2.1'] }), /^server=192\.0\.2\.1$/m);
});

test('public ingress is refused, first of all if firewall and addresses have no owner', () => {
  const said = (env: Readonly<Record<string, string>>): string => {
    const read = new ConfigReader(env);
    readNetworkConfig(read);
    try {
      read.finish();
      return '';
    } catch (error) {
      return String(error);
    }
  };
  assert.equal(said({ GPUAAS_NODE_PUBLIC_INGRESS: 'none' }), '');
  assert.match(said({ GPUAAS_NODE_PUBLIC_INGRESS: 'nat' }), /FIREWALL_OWNER, GPUAAS_NODE_IPAM_OWNER/);
  const owners = { GPUAAS_NODE_FIREWALL_OWNER: 'platform', GPUAAS_NODE_IPAM_OWNER: 'platform' };
  assert.match(said({ GPUAAS_NODE_PUBLIC_INGRESS: 'nat', ...owners }), /private_nat is the only network mode/);
});

test('invalid network settings are named, and the gateway defaults from the network', () => {
  const read = new ConfigReader({
    GPUAAS_NODE_PRIVATE_NETWORK: '10.9.8.0/26',
    GPUAAS_NODE_DENIED_NETWORKS: '10.0.0.0/8, ',
  });
  const config = readNetworkConfig(read);
  read.finish();
  assert.deepEqual([config.gateway, config.denied_networks, config.uplink], ['10.9.8.1', ['10.0.0.0/8'], null]);
  const wrong = new ConfigReader({ GPUAAS_NODE_GATEWAY: '10.99.0.1' });
  readNetworkConfig(wrong);
  assert.throws(() => wrong.finish(), ConfigError);
});
