/**
 * The images as they are built, from packages to a guest. The base is built here if nobody has; the CUDA image takes longer
 * than a run may, so it is looked at where it was built before. Each boots as a slice boots, by the agent's own tasks, and
 * answers for its checks by the way that answers take.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HYPERVISOR_DEFAULTS } from '../../node-agent/src/host/linux/hypervisor-config.ts';
import { composedHostLacks } from '../../node-agent/test/composed-host.ts';
import { makeSliceLab } from '../../node-agent/test/slice-lab.ts';
import { requires } from '../../tools/test/requires.ts';

const BOOT_MS = 20 * 60_000;
const SMALL = { vcpu_count: 2, memory_mib: 1536 };
const build = (name: string, ...flags: readonly string[]): string =>
  execFileSync(fileURLToPath(new URL('build.sh', import.meta.url)), [...flags, name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();

type Entry = Readonly<{
  name: string;
  digest: string;
  readiness_checks: string[];
  driver_strategy: string;
  boot_kind: string;
}>;
const open = (folder: string) => ({
  entry: JSON.parse(readFileSync(join(folder, 'catalog.json'), 'utf8')) as Entry,
  contents: readFileSync(join(folder, 'contents.txt'), 'utf8').split('\n'),
  disk: join(folder, 'disk.qcow2'),
  boot: {
    kind: 'kernel' as const,
    kernel: join(folder, 'vmlinuz'),
    initrd: join(folder, 'initrd'),
    command_line: readFileSync(join(folder, 'cmdline'), 'utf8').trim(),
  },
});

/** A slice of one GPU made of the image, started; its GPU is an emulated device that no driver knows. */
const start = async (t: TestContext, folder: string, diskBytes: number) => {
  const { entry, disk, boot } = open(folder);
  const lab = await makeSliceLab({
    slots: 1,
    disk_bytes: diskBytes,
    images: [{ name: entry.name, file: disk, format: 'qcow2' }],
    hypervisor: { boot: { ...HYPERVISOR_DEFAULTS.boot, kernel: boot } },
  });
  t.after(lab.close);
  await lab.run('slice.bundle_lease', { ...lab.lease, ...SMALL });
  await lab.run('slice.image_clone', { ...lab.held, image: { name: entry.name, digest: entry.digest } });
  await lab.run('slice.vm_start', { ...lab.start, readiness_checks: entry.readiness_checks });
  return { ...lab, entry };
};

const LACKS = composedHostLacks() || requires('mmdebstrap');
const CUDA = /\/(nvcc|nvidia-smi|lib(cuda|cudart|cublas|nvidia-ml)[^/]*\.(so|a)[.\d]*|nvidia[^/]*\.ko)$/;
const GIB = 1024 ** 3;

describe('the base image', { skip: LACKS }, () => {
  test('holds no CUDA and no driver', { timeout: BOOT_MS }, () => {
    const { contents, entry } = open(build('debian-12-base'));
    assert.ok(contents.includes('/usr/bin/cloud-init') && contents.length > 5_000);
    assert.deepEqual(
      contents.filter((path) => CUDA.test(path)),
      [],
    );
    assert.deepEqual([entry.driver_strategy, entry.boot_kind], ['none', 'uefi']);
  });

  test('is ready when its checks hold in the guest OS, and cloud-init takes its seed', {
    timeout: BOOT_MS,
  }, async (t) => {
    const { run, held, tenant, entry, at } = await start(t, build('debian-12-base'), 2 * GIB);
    const ready = await run('slice.vm_readiness', { ...held, readiness_checks: entry.readiness_checks });
    assert.deepEqual([ready.lease_state, ready.gpu_count], ['bound', 1]);
    const here = { ...at, host_key: ready.ssh_host_key ?? '' };
    const ask = 'cloud-init status --wait >/dev/null; /usr/local/lib/gpuaas/readiness; sudo cloud-init schema --system';
    const said = await tenant.run(here, ask, BOOT_MS);
    assert.deepEqual(
      said.split('\n').filter((line) => /ok /.test(line)),
      entry.readiness_checks.map((name) => `ok ${name}`),
    );
    assert.match(said, /Valid (cloud-config|schema)/);

    // The keys of a machine that runs, by the port it has for them; what is there by hand stays.
    const keysOf = async () => (await tenant.run(here, 'cat .ssh/authorized_keys', BOOT_MS)).trim().split('\n');
    await tenant.run(here, 'echo "# by hand" >>.ssh/authorized_keys', BOOT_MS);
    const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp';
    const { allocation_id } = held;
    const tell = (...ssh_public_keys: string[]) =>
      run('allocation.install_authorized_keys', { allocation_id, username: null, ssh_public_keys });
    await tell(tenant.public_key, other);
    assert.ok((await keysOf()).some((line) => line.startsWith(other)));
    await tell(tenant.public_key);
    const left = await keysOf();
    assert.deepEqual([left.length, left.includes('# by hand')], [2, true], left.join('\n'));
  });
});

const cuda = LACKS === false ? build('debian-12-cuda', '--where') : '';
const CUDA_LACKS =
  LACKS ||
  (existsSync(cuda)
    ? false
    : 'prebuilt: the CUDA image takes longer to build than a test run may; run build/slice-image/build.sh debian-12-cuda first');

describe('the CUDA image', { skip: CUDA_LACKS }, () => {
  test('holds compiler, driver and kernel module', () => {
    const { contents, entry } = open(cuda);
    const has = (pattern: RegExp): boolean => contents.some((path) => pattern.test(path));
    for (const pattern of [/\/usr\/bin\/nvcc$/, /\/nvidia-smi$/, /\/libcuda\.so\.1$/, /\/nvidia[^/]*\.ko$/])
      assert.ok(has(pattern), String(pattern));
    assert.equal(entry.driver_strategy, 'preinstalled');
  });

  test('compiles in the guest OS, and reports a missing GPU', {
    timeout: BOOT_MS,
  }, async (t) => {
    const { run, held, entry } = await start(t, cuda, 12 * GIB);
    // Waits as readiness does, until what is left is the GPU.
    const only = 'readiness check gpu_driver fails in the guest: no NVIDIA device is on the bus';
    const signal = new AbortController();
    let note = '';
    const waiting = run(
      'slice.vm_readiness',
      { ...held, readiness_checks: entry.readiness_checks },
      {
        signal: signal.signal,
        progress: (told) => {
          note = told.note ?? '';
          if (note.endsWith(`; ${only}`)) signal.abort();
        },
      },
    );
    await assert.rejects(waiting, {
      code: 'timeout',
      message: `the VM did not become ready in time: the guest has not reported its GPU count; ${only}`,
    });
    assert.ok(entry.readiness_checks.includes('cuda_compile'));
  });
});
