import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirsh } from './hypervisor-virsh.ts';
import type { Run } from './run.ts';

const UUID = '6f0f4d5e-2c4b-4f0e-9d3c-0a1b2c3d4e5f';
/** A libvirt whose commands fail. */
const failing =
  (stderr: string): Run =>
  async () => ({ status: 1, stdout: '', stderr });

test('a device group held by another process is named; other failures show the message of libvirt', async () => {
  const busy = [
    "error: Failed to start domain 'gpuaas-alc-1'",
    'error: internal error: process exited while connecting to monitor: qemu-system-x86_64: -device vfio-pci,host=1b:00.0:',
    'vfio 0000:1b:00.0: failed to open /dev/vfio/45: Device or resource busy',
  ].join('\n');
  await assert.rejects(createVirsh(failing(busy), 'qemu:///system').request('start', UUID), {
    code: 'vfio_group_unavailable',
    message: /\/dev\/vfio\/45: Device or resource busy/,
  });
  await assert.rejects(createVirsh(failing('error: out of memory'), 'qemu:///system').request('start', UUID), {
    code: 'host_error',
    message: 'virsh start failed: error: out of memory',
  });
});
