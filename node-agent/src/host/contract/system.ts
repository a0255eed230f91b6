/** The operating system and its accounts. */
import assert from 'node:assert/strict';
import { TOOL_NAMES } from '../tools.ts';
import { contractTest, refuses } from './subject.ts';

const KEYS = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHfZ one'];

export const systemTests = [
  contractTest('system', 'the identity stays the same', {}, async ({ host }) => {
    assert.deepEqual(await host.system.identity(), await host.system.identity());
  }),
  contractTest('system', 'facts stay the same until the host boots', {}, async ({ host }) => {
    const first = await host.system.facts();
    assert.deepEqual(await host.system.facts(), first);
    assert.match(first.boot_id, /^[0-9a-f-]{36}$/);
    assert.ok(!Number.isNaN(Date.parse(first.booted_at)));
    assert.ok(first.numa.length > 0);
    assert.equal(new Set(first.numa.map(({ node }) => node)).size, first.numa.length);
    for (const pages of first.hugepages) assert.ok(pages.free <= pages.total);
  }),
  contractTest('system', 'every required tool is reported, installed or not', {}, async ({ host }) => {
    const names = (await host.system.tools()).map(({ name }) => name);
    assert.deepEqual(names.toSorted(), [...TOOL_NAMES].sort());
  }),
  contractTest('system', 'the kernel log is lines', {}, async ({ host }) => {
    for (const line of await host.system.kernelLog()) assert.ok(!line.includes('\n'));
  }),
  contractTest(
    'system',
    'a reboot changes the boot ID and ends all VMs',
    { arrange: ['reboot'] },
    async ({ host, arrange }) => {
      const before = await host.system.facts();
      await arrange.reboot();
      assert.notEqual((await host.system.facts()).boot_id, before.boot_id);
      assert.ok((await host.hypervisor.list()).every(({ state }) => state !== 'running'));
    },
  ),
  contractTest(
    'users',
    'a user ensured twice is one user, and is removed with its sessions',
    { arrange: ['openSession'] },
    async ({ host, arrange }) => {
      await host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: KEYS });
      await host.system.ensureUser({ username: 'tenant-a', ssh_public_keys: [] });
      await arrange.openSession('tenant-a');
      assert.equal(await host.system.hasUser('tenant-a'), true);
      assert.deepEqual(await host.system.removeUser('tenant-a'), { sessions_ended: 1, was_present: true });
      assert.equal(await host.system.hasUser('tenant-a'), false);
      assert.deepEqual(await host.system.removeUser('tenant-a'), { sessions_ended: 0, was_present: false });
    },
  ),
  contractTest('users', 'a system user is neither changed nor removed', {}, async ({ host }) => {
    await refuses(host.system.ensureUser({ username: 'root', ssh_public_keys: KEYS }), 'conflict');
    await refuses(host.system.removeUser('root'), 'conflict');
    await refuses(host.system.hasUser('root'), 'conflict');
  }),
];
