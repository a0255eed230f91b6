/** Tenant access to VMs: ports, serial console and SSH keys, with a refusal that states why. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { type Access, type Host, HostError } from '../host.ts';
import { contractTest, eventually, KEYS, prepare, refuses, type Subject, slotAt } from './subject.ts';

const accessOf = (host: Host): Access => {
  assert.ok(host.access, 'the host offers tenant access');
  return host.access;
};
const patience = (): AbortSignal => new AbortController().signal;

const running = async (subject: Subject) => {
  const { host } = subject;
  const machine = await prepare(subject, [slotAt(subject, 0)]);
  await host.hypervisor.start(machine);
  await eventually(() => host.hypervisor.guest(machine.name));
  return { machine, access: accessOf(host), address: machine.plan.private_ip };
};

const TRIES_MAX = 10;

/** As the control plane does it: an emulated VM on a busy computer may confirm too late, so a timeout is retried. */
const setKeys = async (access: Access, name: string, keys: readonly string[], tries = 1): Promise<void> => {
  try {
    await access.setGuestKeys(name, keys, patience());
  } catch (err) {
    if (!(err instanceof HostError) || err.code !== 'timeout' || tries === TRIES_MAX) throw err;
    await setKeys(access, name, keys, tries + 1);
  }
};

/** The first bytes, at least this many. */
const first = async (from: Duplex, length: number): Promise<string> => {
  let text = '';
  while (text.length < length) text += String((await once(from, 'data'))[0]);
  return text;
};

export const accessTests = [
  contractTest('access', 'the SSH port of a guest speaks SSH', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    const socket = await access.dial({ address, port: 22 }, patience());
    assert.match(await first(socket, 8), /^SSH-2\.0-/);
    socket.destroy();
  }),
  contractTest('access', 'a port without a listener is refused with a reason', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    await refuses(access.dial({ address, port: 9 }, patience()), 'blocked');
  }),
  contractTest('access', 'a cancelled dial fails', { slots: 1 }, async (subject) => {
    const { access, address } = await running(subject);
    await refuses(access.dial({ address, port: 22 }, AbortSignal.abort()));
  }),
  contractTest('access', 'a VM that is off is not reached', { slots: 1 }, async (subject) => {
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
      const [one, two] = KEYS;
      for (const keys of [[one], [one], [two], []]) await setKeys(access, machine.name, keys);
    },
  ),
  contractTest('access', 'the console begins with earlier output, for each viewer', { slots: 1 }, async (subject) => {
    const { access, machine } = await running(subject);
    const [one, two] = [await access.serial(machine.name), await access.serial(machine.name)];
    const [output] = await once(one.output, 'data');
    assert.ok(String(output).length > 0);
    assert.equal(String((await once(two.output, 'data'))[0]).slice(0, 20), String(output).slice(0, 20));
    one.close();
    one.close();
    two.close();
  }),
  contractTest('access', 'a VM that does not exist is not reached in any way', {}, async ({ host }) => {
    const access = accessOf(host);
    await refuses(access.serial('gpuaas-none'));
    await refuses(access.setGuestKeys('gpuaas-none', [], patience()));
  }),
];
