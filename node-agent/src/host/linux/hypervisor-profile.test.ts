import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { BootKind } from '@gpuaas/contract/node';
import { ConfigReader } from '@gpuaas/kit';
import { makeTree, type Tree } from '../../../test/tree.ts';
import { hostProfile, machineOf } from '../../../test/vm.ts';
import { compileDomain } from '../../vm/domain.ts';
import { parseDomain } from '../../vm/domain-read.ts';
import { refuses } from '../contract/subject.ts';
import type { VmPlan } from '../host.ts';
import { createFiles } from './files.ts';
import { HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';
import { readProfile } from './hypervisor-profile.ts';
import { findBootKinds } from './hypervisor-ready.ts';
import { readHypervisorConfig } from './hypervisor-settings.ts';
import { NETWORK_DEFAULTS, type NetworkConfig } from './network-config.ts';

type Given = Readonly<{
  tree?: Tree;
  config?: Partial<HypervisorConfig>;
  network?: Partial<NetworkConfig>;
  others?: readonly Readonly<{ machine: VmPlan; pins: readonly number[]; state: 'running' | 'shut_off' }>[];
}>;

const profileOf = async (t: TestContext, machine: VmPlan, { tree = {}, config, network, others = [] }: Given) => {
  const { root, remove } = await makeTree({
    '/proc/cpuinfo': 'processor : 0\naddress sizes\t: 46 bits physical, 57 bits virtual\n',
    ...tree,
  });
  t.after(remove);
  return readProfile(machine, {
    config: { ...HYPERVISOR_DEFAULTS, has_guest_numa: false, ...config },
    network: { ...NETWORK_DEFAULTS, ...network },
    files: createFiles(root),
    functions: [],
    accelerator: 'kvm',
    others: others.map(({ machine: other, pins, state }) => ({
      uuid: '',
      state,
      parsed: parseDomain(compileDomain(other, hostProfile({ pinned_cpus: pins }))),
    })),
  });
};

test('a vCPU is pinned to a CPU used neither by the host nor by another VM', async (t) => {
  const machine = { ...machineOf(1), name: 'gpuaas-new' };
  const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const others = [
    { machine: machineOf(1), pins: range(4, 27), state: 'running' as const },
    { machine: machineOf(1), pins: range(28, 51), state: 'shut_off' as const },
  ];
  const config = { host_cpus: '0-3,112-115' };
  const { pinned_cpus } = await profileOf(t, machine, { config, others });
  assert.deepEqual(pinned_cpus, [...range(28, 55), ...range(116, 167)]);
  assert.equal((await profileOf(t, machine, { others })).pinned_cpus, null, 'unless CPUs are shared');
});

test('the host reports the address width of its CPU and the function that carries the bridge', async (t) => {
  const tree = {
    '/sys/class/net/uplink0': { link: '../../devices/pci0000:00/0000:be:00.2/net/uplink0' },
    '/sys/devices/pci0000:00/0000:be:00.2/net/uplink0/device': { link: '../../../0000:be:00.2' },
  };
  const profile = await profileOf(t, machineOf(1), { tree, network: { uplink: 'uplink0', queues: 4 } });
  assert.deepEqual(
    [profile.physical_address_bits, profile.uplink_pci_address, profile.nic.queues],
    [46, '0000:be:00.2', 4],
  );
});

test('a VM starts as its image needs it, and a host says which boot kinds it has the files for', async (t) => {
  const firmware = ['/usr/share/OVMF/OVMF_CODE_4M.fd', '/usr/share/OVMF/OVMF_VARS_4M.fd'];
  const given = { GPUAAS_NODE_BOOT_KERNEL: '/boot/guest', GPUAAS_NODE_BOOT_INITRD: '/boot/initrd' };
  const configOf = (from: Readonly<Record<string, string>>) => ({
    ...readHypervisorConfig(new ConfigReader(from)),
    has_guest_numa: false,
  });
  const [both, one] = [configOf(given), configOf({})];
  const kinds = async (config: HypervisorConfig, paths: readonly string[]) => {
    const { root, remove } = await makeTree(Object.fromEntries(paths.map((path) => [path, ''])));
    t.after(remove);
    return findBootKinds(createFiles(root), config);
  };
  assert.deepEqual(await kinds(one, firmware), ['uefi']);
  assert.deepEqual(await kinds(one, firmware.slice(1)), []);
  assert.deepEqual(await kinds(both, ['/boot/guest', '/boot/initrd']), ['kernel']);
  assert.deepEqual(await kinds(both, [...firmware, '/boot/guest']), ['uefi'], 'its initrd is missing');
  assert.deepEqual(await kinds(both, [...firmware, '/boot/guest', '/boot/initrd']), ['uefi', 'kernel']);
  const booted = async (config: HypervisorConfig, boot_kind: BootKind) =>
    (await profileOf(t, { ...machineOf(1), boot_kind }, { config })).boot.kind;
  assert.deepEqual([await booted(both, 'uefi'), await booted(both, 'kernel')], ['uefi', 'kernel']);
  assert.equal((await profileOf(t, machineOf(1), { config: both })).boot.kind, 'uefi');
  await refuses(booted(one, 'kernel'), 'unsupported');
});

test('operator settings are read, and invalid ones are named', () => {
  const given = {
    GPUAAS_NODE_ACCELERATOR: 'probe',
    GPUAAS_NODE_HOST_CPUS: '0-3',
    GPUAAS_NODE_SECURE_BOOT_PROFILES: 'a, b',
  };
  const reader = new ConfigReader(given);
  const config = readHypervisorConfig(reader);
  reader.finish();
  assert.deepEqual([config.accelerator, config.host_cpus], ['probe', '0-3']);
  assert.deepEqual([config.boot.uefi.secure_profiles, config.boot.kernel], [['a', 'b'], null]);
  const wrong = { GPUAAS_NODE_SLICE_DIR: '../x', GPUAAS_NODE_GUEST_USER: 'Root', GPUAAS_NODE_HOST_CPUS: 'all' };
  const problems = new ConfigReader(wrong);
  readHypervisorConfig(problems);
  assert.throws(() => problems.finish(), /SLICE_DIR[\s\S]*HOST_CPUS[\s\S]*GUEST_USER/);
});
