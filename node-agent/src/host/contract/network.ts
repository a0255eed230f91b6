/** Switch ports with their address reservations, and the DHCP leases of guests. */
import assert from 'node:assert/strict';
import type { Port } from '../host.ts';
import { ALLOCATION, contractTest, eventually, OTHER_ALLOCATION, prepare, refuses, slotAt } from './subject.ts';

const PORT: Port = {
  name: 'gp000000000001',
  mac_address: '02:00:00:00:00:01',
  private_ip: '10.100.0.11',
  allocation_id: ALLOCATION,
};
const OTHER: Port = {
  name: 'gp000000000002',
  mac_address: '02:00:00:00:00:02',
  private_ip: '10.100.0.12',
  allocation_id: OTHER_ALLOCATION,
};

export const networkTests = [
  contractTest('network', 'every card is listed once', {}, async ({ host }) => {
    const cards = (await host.network.nics()).map((nic) => nic.pci_address);
    assert.equal(new Set(cards).size, cards.length);
  }),
  contractTest('network.ports', 'a port attached twice is attached once, to a bridge', {}, async ({ host }) => {
    await host.network.attach(PORT);
    await host.network.attach(PORT);
    assert.deepEqual([...(await host.network.ports())], [PORT]);
    const bridges = (await host.network.facts()).bridges.filter((bridge) => bridge.ports.includes(PORT.name));
    assert.equal(bridges.length, 1);
  }),
  contractTest(
    'network.ports',
    'a name, MAC or address in use is a conflict and changes nothing',
    {},
    async ({ host }) => {
      await host.network.attach(PORT);
      for (const key of ['name', 'mac_address', 'private_ip'] as const) {
        await refuses(host.network.attach({ ...OTHER, [key]: PORT[key] }), 'conflict');
      }
      assert.deepEqual([...(await host.network.ports())], [PORT]);
    },
  ),
  contractTest(
    'network.ports',
    'detaching removes one port completely and no other, and a second detach reports nothing',
    {},
    async ({ host }) => {
      await host.network.attach(PORT);
      await host.network.attach(OTHER);
      const { allocation_id: _, ...gone } = PORT;
      const all = { port: true, reservation: true, translation: true };
      assert.deepEqual({ ...(await host.network.remains(gone)), lease: null }, { ...all, lease: null });
      assert.equal(await host.network.detach(PORT), true);
      assert.equal(await host.network.detach(PORT), false);
      assert.deepEqual(await host.network.remains(gone), {
        port: false,
        reservation: false,
        lease: false,
        translation: false,
      });
      assert.deepEqual([...(await host.network.ports())], [OTHER]);
      assert.ok((await host.network.facts()).bridges.every((bridge) => !bridge.ports.includes(PORT.name)));
      await host.network.attach({
        ...OTHER,
        name: PORT.name,
        mac_address: PORT.mac_address,
        private_ip: PORT.private_ip,
      });
    },
  ),
  contractTest('network.ports', 'a port without a guest has no DHCP lease', {}, async ({ host }) => {
    await host.network.attach(PORT);
    assert.deepEqual(await host.network.lease(PORT.mac_address, PORT.private_ip), {
      state: 'none',
      ip: null,
      other_mac: null,
    });
  }),
  contractTest(
    'hypervisor',
    'a guest gets the address reserved for its MAC, and no lease after its port is detached',
    { slots: 1 },
    async (subject) => {
      const { host } = subject;
      await host.hypervisor.start(await prepare(subject, [slotAt(subject, 0)]));
      const lease = await eventually(async () => {
        const found = await host.network.lease(PORT.mac_address, PORT.private_ip);
        return found.state === 'none' ? null : found;
      });
      assert.deepEqual(lease, { state: 'bound', ip: PORT.private_ip, other_mac: null });
      await host.network.detach(PORT);
      assert.equal((await host.network.lease(PORT.mac_address, PORT.private_ip)).state, 'none');
    },
  ),
];
