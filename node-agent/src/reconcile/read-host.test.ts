import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeApi } from '@gpuaas/contract/node';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { provision, startTestHost } from '../../test/slice.ts';
import type { Host } from '../host/host.ts';
import { clearFaults } from '../host/sim/fault.ts';
import { inventoryOf, readHostState } from './read-host.ts';

const lookAt = async (host: Host, state: string) => {
  const context = { host, state, now: () => new Date(), no_report_since: new Map<string, Date>() };
  return inventoryOf(context, await readHostState(context), []);
};

test('an unreadable part of the host is reported, and nothing is concluded from it', async (t) => {
  const host = startTestHost(t);
  await provision(host, await host.slots([0, 1]));
  for (const [operation, code] of [
    ['network.ports', 'unreadable_ports'],
    ['pci.list', 'unreadable_pci'],
    ['fabric.facts', 'unreadable_fabric'],
  ] as const) {
    host.fault({ when: operation, do: 'fail', message: 'it does not respond' });
    const seen = await lookAt(host.sim, host.state);
    assert.deepEqual(
      seen.drift.map((one) => one.code),
      [code],
    );
    assert.match(seen.drift[0]?.message ?? '', /it does not respond/);
    assert.equal(seen.vms.length, 1);
    clearFaults(host.sim.dir);
  }
  host.fault({ when: 'hypervisor.inspect', do: 'fail' });
  await assert.rejects(lookAt(host.sim, host.state), { code: 'host_error' }, 'all else is held against the vms');
});

test('devices are not rebound while their current binding cannot be read', async (t) => {
  const host = startTestHost(t);
  const rebind = await host.slots([2]);
  host.fault({ when: 'pci.list', do: 'fail', message: 'it does not respond' });
  await assert.rejects(host.run('slice.reconcile', { rebind }), { code: 'host_error', message: /it does not respond/ });
  const { findings } = await host.run('slice.reconcile', { rebind: [] });
  assert.match(findings.map(({ message }) => message).join(), /PCI functions could not be read/);
});

test('a report stays within the limits of the contract, whatever is found', async (t) => {
  const host = startTestHost(t);
  await provision(host, await host.slots([0]));
  const long = 'x'.repeat(300);
  host.sim.defineForeignDomain('somebodys', [`/dev/${long}`]);
  const images = Array.from({ length: 501 }, (_, at) => ({ digest: `sha256:${at}`, name: long, size_bytes: 1 }));
  const full = { ...host.sim, images: { ...host.sim.images, list: async () => images } };
  const seen = await lookAt(full, host.state);
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(nodeApi.inventoryReport.body);
  assert.ok(validate({ inventory: seen }), JSON.stringify(validate.errors));
  assert.ok(seen.vms.some(({ devices }) => devices[0]?.length === 255));
});
