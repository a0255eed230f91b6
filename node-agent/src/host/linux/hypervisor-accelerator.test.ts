import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { makePrograms, makeTree, putTree } from '../../../test/tree.ts';
import { createFiles } from './files.ts';
import { chooseAccelerator, probeAccelerator } from './hypervisor-accelerator.ts';
import { HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';
import { createRun } from './run.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** A host with /dev/kvm, and a configurable emulator. */
const hostWith = async (t: TestContext, emulator: string, accelerator: HypervisorConfig['accelerator'] = 'probe') => {
  const tree = await makeTree({ '/dev/kvm': '', [BOOT_ID]: 'first\n' });
  t.after(tree.remove);
  const { path, log } = await makePrograms(join(tree.root, 'bin'), { emulator });
  const config = {
    ...HYPERVISOR_DEFAULTS,
    accelerator,
    folder: join(tree.root, 'slices'),
    emulator: join(tree.root, 'bin/emulator'),
  };
  await writeFile(log, '');
  const clock = { ms: 0 };
  const given = { config, files: createFiles(tree.root), run: createRun(path), now: () => clock.ms };
  return {
    root: tree.root,
    clock,
    choose: () => chooseAccelerator(given),
    calls: async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean),
  };
};

test('KVM is used if the probe runs to its end on the CPU of the host', async (t) => {
  const { choose, calls } = await hostWith(t, 'exit 33');
  assert.equal(await choose(), 'kvm');
  assert.match((await calls())[0] ?? '', /accel=kvm -cpu host/);
});

test('a KVM whose probe ends in any other way is not used', async (t) => {
  for (const emulator of ['exit 0', 'exit 1', 'kill -ABRT $$']) {
    const { choose } = await hostWith(t, emulator);
    assert.equal(await choose(), 'tcg');
  }
});

test('the result of the probe is kept until the host reboots', async (t) => {
  const { root, choose, calls } = await hostWith(t, 'exit 33');
  await choose();
  assert.equal(await choose(), 'kvm');
  assert.equal((await calls()).length, 1);
  await putTree(root, { [BOOT_ID]: 'second\n', '/bin/emulator': '#!/bin/sh\nexit 1\n' });
  assert.equal(await choose(), 'tcg');
});

test('a failed probe is repeated after a while, and concurrent callers share one probe', async (t) => {
  const { root, choose, calls, clock } = await hostWith(t, 'exit 1');
  assert.deepEqual(await Promise.all([choose(), choose(), choose()]), ['tcg', 'tcg', 'tcg']);
  assert.equal((await calls()).length, 1);
  await putTree(root, { '/bin/emulator': '#!/bin/sh\nexit 33\n' });
  assert.equal(await choose(), 'tcg');
  clock.ms += 10 * 60_000;
  assert.equal(await choose(), 'kvm');
  assert.deepEqual(await readdir(join(root, 'slices')), ['accelerator'], 'no probe is left behind');
});

test('a configured accelerator is used without a probe', async (t) => {
  const { choose, calls } = await hostWith(t, 'exit 1', 'kvm');
  assert.equal(await choose(), 'kvm');
  assert.deepEqual(await calls(), []);
});

test('the probe runs on a real emulator', { skip: requires('qemu') }, async (t) => {
  const tree = await makeTree({});
  t.after(tree.remove);
  const given = {
    config: { ...HYPERVISOR_DEFAULTS, folder: tree.root },
    files: createFiles('/'),
    run: createRun(),
  };
  const { is_usable, reason } = await probeAccelerator(given, 'tcg');
  assert.equal(is_usable, true, reason);
});
