import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeTree, putTree } from '../../../test/tree.ts';
import { createFiles } from './files.ts';
import { findVfio } from './tools.ts';

test('vfio-pci is available when loaded or built in, and not when only loadable', async (t) => {
  const tree = await makeTree({ '/proc/sys/kernel/osrelease': '6.1.0\n' });
  t.after(tree.remove);
  const find = () => findVfio(createFiles(tree.root));
  const list = 'kernel/drivers/vfio/pci/vfio-pci.ko';
  await putTree(tree.root, { '/lib/modules/6.1.0/modules.dep': `${list}: kernel/drivers/vfio/vfio.ko\n` });
  assert.equal(await find(), null);
  await putTree(tree.root, { '/sys/bus/pci/drivers/vfio-pci': null });
  assert.equal(await find(), '6.1.0');

  const other = await makeTree({
    '/proc/sys/kernel/osrelease': '6.1.0\n',
    '/lib/modules/6.1.0/modules.builtin': `${list}\n`,
  });
  t.after(other.remove);
  assert.equal(await findVfio(createFiles(other.root)), '6.1.0');
});
