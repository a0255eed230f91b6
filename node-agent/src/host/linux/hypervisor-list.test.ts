import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePrograms, makeTree } from '../../../test/tree.ts';
import { ALLOCATION, refuses } from '../contract/subject.ts';
import { createFiles } from './files.ts';
import { createHypervisor } from './hypervisor.ts';
import { HYPERVISOR_DEFAULTS } from './hypervisor-config.ts';
import { NETWORK_DEFAULTS } from './network-config.ts';
import { createRun } from './run.ts';

test('a host without libvirt has no VMs, unless files of a VM show that it may run', async (t) => {
  const tree = await makeTree({});
  t.after(tree.remove);
  const folder = join(tree.root, 'slices');
  const own = join(folder, `gpuaas-${ALLOCATION.replace('_', '-')}`);
  const none = async () => [];
  const hypervisor = createHypervisor({
    config: { ...HYPERVISOR_DEFAULTS, folder },
    network: NETWORK_DEFAULTS,
    files: createFiles(tree.root),
    run: createRun(join(tree.root, 'bin')),
    pci: { list: none },
    disks: { list: none },
  });
  const empty = { domains: [], leftovers: [] };
  assert.deepEqual([await hypervisor.list(), await hypervisor.inspect()], [[], empty]);
  await mkdir(own, { recursive: true });
  await refuses(hypervisor.list(), 'host_error');
  await refuses(hypervisor.inspect(), 'host_error');
  await rm(own, { recursive: true });
  assert.deepEqual(await hypervisor.inspect(), empty);
  await mkdir(own);
  await makePrograms(join(tree.root, 'bin'), { virsh: 'exit 0' });
  assert.deepEqual((await hypervisor.inspect()).leftovers.length, 1, 'libvirt that answers is believed');
});
