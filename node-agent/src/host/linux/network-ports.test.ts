/** VMs on a real switch, with a real DHCP server and firewall, in namespaces of the test. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { arp, EVERYBODY, icmp6, udp } from '../../../test/frames.ts';
import {
  type LabGuest,
  labLacks,
  METADATA,
  type NetworkLab,
  OUTSIDE,
  startNetworkLab,
} from '../../../test/network-lab.ts';
import { closeNetworkHost, networkHost } from '../../../test/network-subject.ts';
import { eventually, refuses } from '../contract/subject.ts';
import { hostContract } from '../host.contract.ts';
import type { Port } from '../host.ts';
import { createFiles } from './files.ts';
import { createPorts } from './network-ports.ts';
import { type Command, createRun, type Run } from './run.ts';

const portAt = (index: number): Port => ({
  name: `gp00000000000${index}`,
  mac_address: `02:00:00:00:00:0${index}`,
  private_ip: `10.100.0.1${index}`,
  allocation_id: `alc_01jz000000000000000000000${index}`,
});
const A = portAt(1);
const B = portAt(2);
const C = portAt(3);
const NO_MAC = '00:00:00:00:00:00';
const EVERYTHING = ['port', 'interface', 'flows', 'hosts', 'leases', 'rules', 'connections'];

const skip = labLacks();
const portsOf = (lab: NetworkLab, run: Run = createRun()) =>
  createPorts({ config: lab.config, files: createFiles(), run });

/** Every remaining part of a port. */
const remains = async (lab: NetworkLab, port: Port): Promise<readonly string[]> => {
  const pattern = new RegExp(`${port.name}|${port.mac_address}|${port.private_ip.replaceAll('.', '\\.')}(?!\\d)`);
  const found = {
    port: await lab.vsctl('--columns=name', 'list', 'Port'),
    interface: await lab.vsctl('--columns=name', 'list', 'Interface'),
    flows: await lab.ofctl('dump-flows', lab.config.bridge),
    hosts: (await readdir(join(lab.config.folder, 'hosts'))).join(' '),
    leases: (await lab.host.run('cat', join(lab.config.folder, 'leases'))).stdout,
    rules: await lab.host.must('nft', 'list', 'ruleset'),
    connections: await lab.host.must('conntrack', '--dump'),
  };
  return Object.entries(found)
    .filter(([, text]) => pattern.test(text))
    .map(([what]) => what);
};

const hexOf = (text: string): string => Buffer.from(text).toString('hex');
const ipHex = (ip: string): string => Buffer.from(ip.split('.').map(Number)).toString('hex');
const isFrom =
  (mac: string) =>
  (frame: string): boolean =>
    frame.slice(12, 24) === mac.replaceAll(':', '');
const isArp = (frame: string): boolean => frame.slice(24, 28) === '0806';
const bound = (port: Port) => ({ state: 'bound', ip: port.private_ip, other_mac: null });

describe('the network of VMs', { skip }, () => {
  let lab: NetworkLab;
  let a: LabGuest;
  let b: LabGuest;
  before(async () => {
    lab = await startNetworkLab();
    a = await lab.guest(A.name, A.mac_address);
    b = await lab.guest(B.name, B.mac_address);
    await lab.outside.serve(OUTSIDE);
  });
  after(() => lab?.close());

  test('a VM gets its reserved address and reaches the internet through the host, but no neighbor', async () => {
    const ports = portsOf(lab);
    await lab.host.must('ip', 'addr', 'add', `${METADATA}/32`, 'dev', 'lo');
    for (const address of [lab.config.gateway, '203.0.113.1', METADATA]) await lab.host.serve(address);
    await ports.attach(A);
    await ports.attach(B);
    assert.deepEqual(await ports.ports(), [A, B]);
    assert.deepEqual((await ports.lease(A.mac_address, A.private_ip)).state, 'none');

    // One requests a unicast reply, the other a broadcast.
    const asked = await Promise.all([a.dhcp(), b.dhcp('-B')]);
    assert.deepEqual(
      asked.map(({ status }) => status),
      [0, 0],
      asked.map(({ stderr }) => stderr).join(''),
    );
    for (const [guest, port] of [
      [a, A],
      [b, B],
    ] as const) {
      assert.match(await guest.must('ip', 'addr', 'show', 'eth0'), new RegExp(`${port.private_ip}/24`));
      assert.deepEqual(await ports.lease(port.mac_address, port.private_ip), bound(port));
    }
    await b.serve(B.private_ip);
    const [out, ...others] = await Promise.all(
      [OUTSIDE, B.private_ip, lab.config.gateway, '203.0.113.1', METADATA].map((address) => a.reaches(address)),
    );
    assert.deepEqual({ out, others }, { out: true, others: [false, false, false, false] });
    // DNS is the only service of the host.
    await a.must('timeout', '5', 'bash', '-c', `exec 3<>/dev/tcp/${lab.config.gateway}/53`);
    // The outside sees the address of the host; the host itself may connect to its VM.
    assert.match(await lab.host.must('conntrack', '--dump', '--src', A.private_ip), /dst=203\.0\.113\.1 /);
    assert.equal(await lab.host.reaches(B.private_ip), true);
    await lab.outside.must('ip', 'route', 'add', '10.100.0.0/24', 'via', '203.0.113.1');
    assert.equal(await lab.outside.reaches(B.private_ip), false);
  });

  test('spoofed packets, and packets of a DHCP server or router, are dropped', async () => {
    const ports = portsOf(lab);
    const gateway = (await lab.host.must('ip', '-json', 'link', 'show', lab.config.bridge)).match(
      /"address":"([^"]+)"/,
    )?.[1];
    assert.ok(gateway);
    const [liar, victim, atHost, world] = await Promise.all([
      a.wire('eth0'),
      b.wire('eth0'),
      lab.host.wire(lab.config.bridge),
      lab.outside.wire('eth0'),
    ]);
    const honest = { to: gateway, from: A.mac_address, src: A.private_ip, dst: OUTSIDE };
    const toVictim = { ...honest, to: B.mac_address, dst: B.private_ip };
    const said = { to: EVERYBODY, from: A.mac_address, sha: A.mac_address, spa: A.private_ip, tha: NO_MAC };
    liar.send(
      udp({ ...honest, from: B.mac_address }, 1000, 9, 'LIE another MAC'),
      udp({ ...honest, src: B.private_ip }, 1000, 9, 'LIE another address'),
      udp({ ...honest, src: '192.0.2.7' }, 1000, 9, 'LIE a foreign address'),
      udp({ ...honest, dst: METADATA }, 1000, 80, 'LIE to metadata'),
      udp({ ...honest, dst: lab.config.gateway }, 1000, 9, 'LIE to the host'),
      udp(toVictim, 1000, 9, 'LIE to a neighbour'),
      udp({ ...toVictim, to: gateway }, 1000, 9, 'LIE to a neighbour by the host'),
      udp({ ...toVictim, to: EVERYBODY, dst: '255.255.255.255' }, 67, 68, 'LIE an address server'),
      udp(toVictim, 67, 68, 'LIE an address server to one'),
      arp('reply', { ...said, spa: lab.config.gateway, tpa: B.private_ip }),
      arp('reply', { ...said, spa: B.private_ip, tpa: lab.config.gateway }),
      arp('request', { ...said, sha: B.mac_address, tpa: lab.config.gateway }),
      arp('request', { ...said, tpa: B.private_ip }),
      icmp6(A.mac_address, 134),
      icmp6(A.mac_address, 136),
      // Frames on one link keep their order: when the last one has arrived, the others have been handled.
      udp(honest, 1000, 9, 'the truth'),
    );
    await world.until((frame) => frame.includes(hexOf('the truth')));
    await lab.host.must('busybox', 'ping', '-c', '1', '-W', '5', B.private_ip);
    await victim.until((frame) => frame.startsWith(B.mac_address.replaceAll(':', '')));
    const heard = [...atHost.seen(), ...victim.seen(), ...world.seen()];
    assert.deepEqual(
      heard.filter((frame) => frame.includes(hexOf('LIE'))),
      [],
    );
    assert.deepEqual(
      heard.filter((frame) => isFrom(A.mac_address)(frame) && frame.slice(24, 28) === '86dd'),
      [],
    );
    assert.deepEqual(victim.seen().filter(isFrom(A.mac_address)), []);
    // The only ARP that the host sees is each VM announcing itself.
    for (const port of [A, B])
      assert.deepEqual(
        atHost
          .seen()
          .filter((frame) => isArp(frame) && isFrom(port.mac_address)(frame))
          .filter((frame) => frame.slice(56, 64) !== ipHex(port.private_ip)),
        [],
      );
    // A VM that spoofs its neighbor does not affect the neighbor's DHCP lease.
    assert.deepEqual(await ports.lease(B.mac_address, B.private_ip), bound(B));
  });

  test('a VM whose device appears after its port has its address and its filters', async () => {
    const ports = portsOf(lab);
    await ports.attach(C);
    assert.deepEqual(await ports.ports(), [A, B, C]);
    const c = await lab.guest(C.name, C.mac_address);
    // As libvirt does it when a VM starts.
    await lab.vsctl(
      '--may-exist',
      'add-port',
      lab.config.bridge,
      C.name,
      '--',
      'set',
      'Interface',
      C.name,
      'external_ids:vm-id=c',
    );
    assert.equal((await c.dhcp()).status, 0);
    assert.deepEqual(await Promise.all([OUTSIDE, B.private_ip].map((address) => c.reaches(address))), [true, false]);
    assert.deepEqual(await ports.restore(), []);
    assert.equal(await ports.detach(C), true);
    assert.deepEqual(await remains(lab, C), []);
  });

  test('two devices that claim one address are both named', async () => {
    const ports = portsOf(lab);
    await refuses(ports.attach({ ...C, private_ip: A.private_ip }), 'conflict');
    await assert.rejects(ports.attach({ ...C, private_ip: A.private_ip }), (error: Error) =>
      [C.mac_address, A.mac_address].every((mac) => error.message.includes(mac)),
    );
    // A device on an unmanaged port of the bridge claims the address.
    const stranger = { name: 'foreign0', mac_address: '02:00:00:00:00:99' };
    const place = await lab.guest(stranger.name, stranger.mac_address);
    await lab.vsctl('add-port', lab.config.bridge, stranger.name);
    const wire = await place.wire('eth0');
    const { mac_address: mac } = stranger;
    wire.send(arp('reply', { to: EVERYBODY, from: mac, sha: mac, spa: A.private_ip, tha: NO_MAC, tpa: A.private_ip }));
    const seen = await eventually(async () => {
      const lease = await ports.lease(A.mac_address, A.private_ip);
      return lease.state === 'bound' ? null : lease;
    });
    assert.deepEqual(seen, { state: 'conflict', ip: A.private_ip, other_mac: mac });
    assert.deepEqual(await ports.lease(B.mac_address, B.private_ip), bound(B));
    await lab.vsctl('del-port', lab.config.bridge, stranger.name);
  });

  test('a switch that lost its flows connects no VM, and the flows are restored', async () => {
    const ports = portsOf(lab);
    await lab.restartSwitch();
    // Without flows it would switch between all ports.
    assert.match(await lab.ofctl('dump-flows', lab.config.bridge), /actions=NORMAL/);
    await a.must('ip', 'neigh', 'replace', B.private_ip, 'lladdr', B.mac_address, 'dev', 'eth0');
    assert.deepEqual(await Promise.all([B.private_ip, OUTSIDE].map((address) => a.reaches(address))), [false, false]);
    const told = await ports.restore();
    assert.ok(told.includes(`restored the flows of ${A.name}`), told.join('; '));
    assert.deepEqual(await Promise.all([B.private_ip, OUTSIDE].map((address) => a.reaches(address))), [false, true]);
    assert.deepEqual(await ports.restore(), []);
  });

  test('ports left by a dead agent are removed at the next start, and live ones stay', async () => {
    const ports = portsOf(lab);
    await lab.vsctl('del-port', lab.config.bridge, B.name);
    assert.deepEqual(await remains(lab, B), ['flows', 'hosts', 'leases', 'rules', 'connections']);
    const told = await portsOf(lab).restore();
    assert.equal(told.length, 5, told.join('; '));
    assert.deepEqual(await remains(lab, B), []);
    assert.deepEqual(await ports.ports(), [A]);
    assert.equal(await a.reaches(OUTSIDE), true);
  });

  test('a detached VM leaves nothing behind, and the last one removes the shared parts', async () => {
    const ports = portsOf(lab);
    await ports.attach(B);
    assert.equal((await b.dhcp()).status, 0);
    assert.deepEqual(await Promise.all([a.reaches(OUTSIDE), b.reaches(OUTSIDE)]), [true, true]);
    assert.deepEqual(await remains(lab, A), EVERYTHING);
    assert.equal(await ports.detach(A), true);
    assert.deepEqual(await remains(lab, A), []);
    assert.equal(await ports.detach(A), false);
    assert.deepEqual(await Promise.all([a.reaches(OUTSIDE), b.reaches(OUTSIDE)]), [false, true]);
    assert.deepEqual(await ports.lease(B.mac_address, B.private_ip), bound(B));
    assert.equal(await ports.detach(B), true);
    assert.doesNotMatch(await lab.host.must('nft', 'list', 'ruleset'), /gpuaas/);
    assert.doesNotMatch(await lab.ofctl('dump-flows', lab.config.bridge), /cookie=0x6770/);
  });

  test('an address goes to its new owner although the old one never released its DHCP lease', async () => {
    const ports = portsOf(lab);
    await ports.attach(A);
    assert.equal((await a.dhcp()).status, 0);
    await lab.vsctl('del-port', lab.config.bridge, A.name);
    const next = { ...B, private_ip: A.private_ip };
    await ports.attach(next);
    await b.must('ip', 'addr', 'flush', 'dev', 'eth0');
    assert.equal((await b.dhcp()).status, 0);
    assert.deepEqual(await ports.lease(B.mac_address, A.private_ip), bound(next));
    assert.equal(await ports.detach(next), true);
    assert.equal(await ports.detach(A), false);
    assert.deepEqual(await remains(lab, A), []);
  });

  test('nothing is created without the bridge or its gateway', async () => {
    const config = { ...lab.config, bridge: 'ovsbr9' };
    const without = createPorts({ config, files: createFiles(), run: createRun() });
    await assert.rejects(without.attach(A), /no bridge ovsbr9/);
    const elsewhere = { ...lab.config, gateway: '10.100.0.2' };
    await refuses(createPorts({ config: elsewhere, files: createFiles(), run: createRun() }).attach(A), 'blocked');
    assert.deepEqual(await remains(lab, A), []);
  });

  test('a switch that accepts only some of the flows leaves no half-open port', async () => {
    const broken: Record<string, (command: Command) => Command> = {
      'loses a flow': (command) => ({
        ...command,
        ...(command.input?.includes('in_port=')
          ? { input: command.input.replace(/^.*tp_src=67,actions=drop\n/m, '') }
          : {}),
      }),
      'refuses a flow': (command) => ({
        ...command,
        ...(command.input?.includes('arp_sha') ? { input: command.input.replace('arp_sha', 'arp_nobody') } : {}),
      }),
    };
    for (const [how, change] of Object.entries(broken)) {
      const run = createRun();
      const ports = portsOf(lab, (command) => run(command.argv.includes('add-flows') ? change(command) : command));
      await refuses(ports.attach(A), 'host_error');
      assert.deepEqual(await remains(lab, A), [], how);
      assert.deepEqual(await ports.ports(), []);
    }
  });

  test('invalid names and addresses are never passed to a program', async () => {
    const ports = portsOf(lab, async ({ argv }) => assert.fail(`${argv.join(' ')} was run`));
    for (const change of [
      { name: '../../etc/passwd' },
      { name: 'a b' },
      { mac_address: '01:00:5e:00:00:01' },
      { mac_address: '02:00:00:00:00:01,set:x' },
      { private_ip: '10.100.0.1' },
      { private_ip: '10.100.1.1' },
      { private_ip: '10.100.0.255' },
      { allocation_id: 'alc_1"; drop' },
    ])
      await refuses(ports.attach({ ...A, ...change }), 'blocked');
    await refuses(ports.detach({ name: '../leases', mac_address: A.mac_address }), 'blocked');
  });
});

hostContract(networkHost);
after(closeNetworkHost);
