import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { makeTree, SWITCH_TREE } from '../../../test/tree.ts';
import { refuses } from '../contract/subject.ts';
import { createLinuxHost } from './host.ts';
import { createRun } from './run.ts';

const GPU = '0000:1b:00.0';
/** /dev/full: a character device that no process keeps open. */
const NUMBER = ['c', '1', '7'] as const;

/** A process that has a file open until it is told to exit. */
const holdOpen = async (t: TestContext, path: string) => {
  const child = spawn('sh', ['-c', 'exec 3<>"$0"; echo open; cat', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'close');
  };
};

test('a device is neither reset nor rebound while a VM has its group open', {
  skip: requires('root'),
}, async (t) => {
  const { root, remove } = await makeTree({
    ...SWITCH_TREE,
    [`/sys/bus/pci/devices/${GPU}/reset`]: '',
    [`/sys/bus/pci/devices/${GPU}/driver_override`]: '',
  });
  t.after(remove);
  const host = createLinuxHost({ root, run: createRun() });
  const group = (await host.pci.list()).find((fn) => fn.address === GPU)?.iommu_group;
  const file = join(root, 'dev/vfio', String(group));
  await mkdir(dirname(file), { recursive: true });
  execFileSync('mknod', [file, ...NUMBER]);
  const end = await holdOpen(t, file);
  await refuses(host.pci.reset(GPU, [GPU]), 'blocked');
  await refuses(host.pci.bind(GPU, null), 'blocked');
  await end();
  assert.equal((await host.pci.reset(GPU, [GPU])).method, 'bus');
});
