import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makePrograms, makeTree } from '../../../test/tree.ts';
import { createFiles } from './files.ts';
import { HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';
import { readHypervisor } from './hypervisor-facts.ts';
import { createRun } from './run.ts';

const ANSWER = `printf 'Using library: libvirt 9.0.0\\nRunning against daemon: 9.0.1\\n'`;

const read = async (
  t: TestContext,
  programs: Readonly<Record<string, string>>,
  over: Partial<HypervisorConfig> = {},
  files: readonly string[] = ['/usr/share/OVMF/OVMF_CODE_4M.fd', '/usr/share/OVMF/OVMF_VARS_4M.fd', '/dev/kvm'],
) => {
  const tree = await makeTree({
    '/proc/sys/kernel/random/boot_id': 'first\n',
    '/usr/bin/emulator': '',
    ...Object.fromEntries(files.map((file) => [file, ''])),
  });
  t.after(tree.remove);
  const { path } = await makePrograms(join(tree.root, 'bin'), programs);
  const emulator = join(tree.root, 'bin/emulator');
  const config = { ...HYPERVISOR_DEFAULTS, emulator, folder: join(tree.root, 'slices'), ...over };
  const made = createFiles(tree.root);
  // The emulator is run from its real path, and looked up below the root of the host.
  const exists = (file: string) => (file === emulator ? Promise.resolve('emulator' in programs) : made.exists(file));
  return readHypervisor({ config, files: { ...made, exists }, run: createRun(path) });
};

test('a responding libvirt, a successful probe and all required files are reported', async (t) => {
  assert.deepEqual(await read(t, { virsh: ANSWER, emulator: 'exit 33' }), {
    libvirt_version: '9.0.1',
    missing_files: [],
    accelerator: 'kvm',
    kvm: { is_usable: true, reason: 'status 33' },
  });
});

test('a KVM device that cannot run a guest is not usable, whatever the settings say', async (t) => {
  const emulator = 'echo "failed to initialize kvm" >&2; exit 1';
  const said = await read(t, { virsh: ANSWER, emulator });
  assert.deepEqual([said.accelerator, said.kvm], ['kvm', { is_usable: false, reason: 'failed to initialize kvm' }]);
  const probed = await read(t, { virsh: ANSWER, emulator }, { accelerator: 'probe' });
  assert.equal(probed.accelerator, 'tcg');
  const off = await read(t, { virsh: ANSWER, emulator }, { accelerator: 'tcg' });
  assert.deepEqual([off.accelerator, off.kvm.is_usable], ['tcg', false]);
});

test('a libvirt that is missing or does not respond, and missing files, are named', async (t) => {
  const broken = await read(t, { virsh: 'exit 1', emulator: 'exit 33' }, {}, ['/dev/kvm']);
  assert.equal(broken.libvirt_version, null);
  assert.deepEqual(broken.missing_files, ['/usr/share/OVMF/OVMF_CODE_4M.fd', '/usr/share/OVMF/OVMF_VARS_4M.fd']);
  const bare = await read(t, {});
  assert.equal(bare.libvirt_version, null);
  assert.deepEqual(bare.kvm.is_usable, false);
  assert.equal(bare.missing_files.length, 1);
});
