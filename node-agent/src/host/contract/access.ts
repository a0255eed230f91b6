/** A tenant's way in: to what is its own and there, refused in words where nothing answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { Access, Host } from '../host.ts';
import { ALLOCATION, contractTest, eventually, machineOf, prepare, refuses, type Subject, slotAt } from './subject.ts';

const accessOf = (host: Host): Access => {
  assert.ok(host.access, 'the host lets tenants in');
  return host.access;
};
const patience = (): AbortSignal => new AbortController().signal;

const running = async (subject: Subject) => {
  const { host } = subject;
  const machine = machineOf([slotAt(subject, 0)]);
  const { ovs_port: name, mac_address, private_ip } = machine.plan;
  await prepare(subject, [slotAt(subject, 0)]);
  await host.network.attach({ name, mac_address, private_ip, allocation_id: ALLOCATION });
  await host.hypervisor.start(machine);
  await eventually(() => host.hypervisor.guest(machine.name));
  return { machine, access: accessOf(host), address: private_ip };
};

/** What comes first, at least as much of it as was asked for. */
const first = async (from: Duplex, length: number): Promise<string> => {
  let text = '';
  while (text.length < length) text += String((await once(from, 'data'))[0]);
  return text;
};

export const accessTests = [
  contractTest('access', 'the SSH port of a guest answers as one', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    const socket = await access.dial({ address, port: 22 }, patience());
    assert.match(await first(socket, 8), /^SSH-2\.0-/);
    socket.destroy();
  }),
  contractTest('access', 'a port where nothing listens is refused in words', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    await refuses(access.dial({ address, port: 9 }, patience()), 'blocked');
  }),
  contractTest('access', 'a dial that nobody waits for any longer is given up', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    await refuses(access.dial({ address, port: 22 }, AbortSignal.abort()));
  }),
  contractTest('access', 'a machine that is off is not reached', { slots: 1 }, async (subject) => {
    const { access, address, machine } = await running(subject);
    await subject.host.hypervisor.stop(machine.name, 0);
    await refuses(access.dial({ address, port: 22 }, patience()), 'blocked', 'timeout');
    await refuses(access.serial(machine.name));
    await refuses(access.setGuestKeys(machine.name, [], patience()));
  }),
  contractTest(
    'access',
    'keys set twice are set once, and those of an earlier set go',
    { slots: 1 },
    async (subject) => {
      const { access, machine } = await running(subject);
      const [one, two] = ['ssh-ed25519 AAAAone one', 'ssh-ed25519 AAAAtwo two'];
      for (const keys of [[one], [one], [two], []]) await access.setGuestKeys(machine.name, keys, patience());
    },
  ),
  contractTest(
    'access',
    'the console begins with what the machine said, for each that looks',
    { slots: 1 },
    async (subject) => {
      const { access, machine } = await running(subject);
      const [one, two] = [await access.serial(machine.name), await access.serial(machine.name)];
      const [said] = await once(one.output, 'data');
      assert.ok(String(said).length > 0);
      assert.equal(String((await once(two.output, 'data'))[0]).slice(0, 20), String(said).slice(0, 20));
      one.close();
      one.close();
      two.close();
    },
  ),
  contractTest('access', 'a machine that does not exist is not reached in any way', {}, async ({ host }) => {
    const access = accessOf(host);
    await refuses(access.serial('gpuaas-none'));
    await refuses(access.setGuestKeys('gpuaas-none', [], patience()));
  }),
];
