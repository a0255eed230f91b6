import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TASKS } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { SLOTS_MAX } from '@gpuaas/scheduler';
import { stepEntries, taskKindOf } from '../domain/workflow-declaration.ts';
import {
  type AllocationTaskKind,
  PROVISION_BAREMETAL,
  PROVISION_SLICE,
  REBOOT_SLICE,
  REINSTALL_SLICE,
  RELEASE_ALLOCATION,
  START_SLICE,
  STOP_SLICE,
} from '../domain/workflow-steps.ts';
import { createAjv } from '../schema.ts';
import { type TaskFacts, taskParams, taskUserData } from './allocation-task.ts';

const slot: TaskFacts['slots'][number] = {
  id: mintId('slt'),
  node_id: mintId('nod'),
  slot_index: 0,
  status: 'reserved',
  status_reason: null,
  generation: 1,
  module_id: 1,
  gpu_pci_address: '0000:1b:00.0',
  nvme_serial: 'S1',
  nvme_device: '/dev/disk/by-id/nvme-S1',
  nvme_size_bytes: 4096,
  mac_address: '02:00:00:00:00:01',
  private_ip: '10.100.0.10',
  fabric_vf_pci_address: '0000:3b:00.1',
  wipe_method: 'nvme_sanitize',
};

const facts = (
  allocation: Readonly<Record<string, unknown>> = {},
  sealed_user_data: Buffer | null = null,
): TaskFacts => ({
  allocation: {
    ...{ id: mintId('alc'), name: 'trainer', state: 'provisioning', install_number: 0, power_grace_s: null },
    ...{ vcpu_count: 24, memory_mib: 65_536, vm_profile_name: 'h200_1g_24c_64g' },
    ...allocation,
  } as unknown as TaskFacts['allocation'],
  slots: [slot, { ...slot, id: mintId('slt'), nvme_serial: null }],
  node: undefined,
  image: undefined,
  ssh_public_keys: [],
  sealed_user_data,
  wipe_minimum: 'purge',
  isolates_fabric: false,
});

const MOVES_ALLOCATION = [
  PROVISION_SLICE,
  PROVISION_BAREMETAL,
  STOP_SLICE,
  START_SLICE,
  REBOOT_SLICE,
  REINSTALL_SLICE,
  RELEASE_ALLOCATION,
];
const KINDS = new Set(
  MOVES_ALLOCATION.flatMap(stepEntries)
    .flatMap(([, step]) => [taskKindOf(step, 'gpu_slice'), taskKindOf(step, 'baremetal')])
    .filter((kind) => kind !== null) as AllocationTaskKind[],
);

const ajv = createAjv({});

test('every kind receives what its params require, and nothing else', () => {
  assert.ok(KINDS.size > 5);
  for (const kind of KINDS) {
    const validate = ajv.compile(TASKS[kind].params);
    for (const given of [
      facts(),
      facts({ install_number: 2, power_grace_s: 0, state: 'active' }, Buffer.from('#cloud-config')),
    ])
      assert.ok(validate(taskParams(kind, given)), `${kind}: ${JSON.stringify(validate.errors)}`);
  }
});

test('a host receives pages and a NUMA policy only where they are not the defaults, which older agents keep', () => {
  const sent = (hugepages: string | null, numa_policy: string | null) => {
    const params = taskParams('slice.bundle_lease', facts({ hugepages, numa_policy }));
    return [params.hugepages, params.numa_policy, 'hugepages' in params, 'numa_policy' in params];
  };
  assert.deepEqual(sent('1G', 'preferred'), ['1G', 'preferred', true, true]);
  assert.deepEqual(sent('none', 'none'), ['none', 'none', true, true]);
  assert.deepEqual(sent('auto', 'strict'), [undefined, undefined, false, false]);
  assert.deepEqual(sent(null, null), [undefined, undefined, false, false], 'launched before');
});

test('copy and start name the boot kind of the image where it is not uefi, which agents of earlier releases know alone', () => {
  for (const kind of ['slice.image_clone', 'slice.vm_start'] as const) {
    const sent = (boot_kind: 'uefi' | 'kernel') => {
      const image = { name: 'debian', digest: 'sha256:1', boot_kind, readiness_checks: [] };
      const params = taskParams(kind, { ...facts(), image });
      return [params.boot_kind, 'boot_kind' in params];
    };
    assert.deepEqual(
      [sent('kernel'), sent('uefi')],
      [
        ['kernel', true],
        [undefined, false],
      ],
    );
  }
});

test('a held slot that could not be placed again is still named to the host that wipes it', () => {
  const unplaceable = { ...slot, slot_index: SLOTS_MAX };
  assert.deepEqual(
    taskParams('slice.cleanup', { ...facts(), slots: [unplaceable] }).slots.map(({ slot_id }) => slot_id),
    [slot.id],
  );
});

test('a slot that lacks a binding is not named to a host', () => {
  assert.deepEqual(
    taskParams('slice.cleanup', facts()).slots.map(({ slot_id }) => slot_id),
    [slot.id],
  );
});

test('every start names the storage and the network of the launch, also after a reinstallation', () => {
  for (const install_number of [0, 1]) {
    const given = facts({ capacity_shape: 'gpu_slice', storage: 'formatted', network: 'private_nat', install_number });
    const { storage, network } = taskParams('slice.vm_start', given);
    assert.deepEqual([storage, network], ['formatted', 'private_nat']);
    assert.equal(taskParams('slice.vm_readiness', given).storage, 'formatted');
  }
});

test('a start passes the fabric into the VM only where the region isolates tenants', () => {
  assert.equal('passes_fabric' in taskParams('slice.vm_start', facts()), false);
  assert.equal(taskParams('slice.vm_start', { ...facts(), isolates_fabric: true }).passes_fabric, true);
});

test('user data is sent with each start, and with a copy only when it replaces a system', () => {
  const later = { install_number: 1 };
  const sealed = Buffer.from('sealed');
  assert.equal(taskUserData('slice.vm_start', facts()), null);
  assert.equal(taskUserData('slice.vm_start', facts({}, sealed)), sealed);
  assert.equal(taskUserData('slice.image_clone', facts({}, sealed)), null);
  assert.equal(taskUserData('slice.image_clone', facts(later)), null);
  assert.equal(taskUserData('slice.image_clone', facts(later, sealed)), sealed);
  assert.equal(taskUserData('slice.vm_stop', facts(later, sealed)), null);
  assert.equal(taskParams('slice.vm_start', facts({}, sealed)).user_data, null, 'it is not in the clear');
  assert.equal('user_data' in taskParams('slice.image_clone', facts(later, sealed)), false);
});
