import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DiskFacts, PciFunction } from '@gpuaas/contract/node';
import { hostProfile, machineOf } from '../../../test/vm.ts';
import { compileDomain } from '../../vm/domain.ts';
import { parseDomain } from '../../vm/domain-read.ts';
import { devicesOf } from '../../vm/pci-plan.ts';
import { refuses } from '../contract/subject.ts';
import { HostError } from '../host.ts';
import { refuseDisks, refuseShared, refuseUnbound, refuseWithoutPages } from './hypervisor-ready.ts';

const machine = machineOf(2);
const bound = (address: string, index: number): PciFunction =>
  ({ address, driver: 'vfio-pci', iommu_group: index, class_code: '030200' }) as PciFunction;
const functions = devicesOf(machine).map(bound);
const hasAll = async (): Promise<boolean> => true;
const refused = (code: string, pattern: RegExp) => (err: unknown) =>
  err instanceof HostError && err.code === code && pattern.test(err.message);

test('devices bound to vfio-pci in their own groups are passed through', () =>
  refuseUnbound(machine, functions, hasAll));

test('a device that is gone, bound elsewhere, or without its own group is not passed through', async () => {
  const changed = (change: Partial<PciFunction>) =>
    functions.map((fn, index) => (index === 1 ? { ...fn, ...change } : fn));
  await refuses(refuseUnbound(machine, functions.slice(1), hasAll), 'drift');
  await refuses(refuseUnbound(machine, changed({ driver: 'nvidia' }), hasAll), 'drift');
  await refuses(refuseUnbound(machine, changed({ driver: null }), hasAll), 'drift');
  await refuses(refuseUnbound(machine, changed({ iommu_group: null }), hasAll), 'blocked');
  const neighbour = { ...bound('0000:00:1f.0', 1), driver: 'ahci' };
  await refuses(refuseUnbound(machine, [...functions, neighbour], hasAll), 'blocked');
  await refuseUnbound(machine, [...functions, { ...neighbour, class_code: '060400' }], hasAll);
});

test('a fabric function that is not passed through is not checked', async () => {
  const without = { ...machine, passes_fabric: false };
  const vfs = machine.plan.slots.map((slot) => slot.fabric_vf_pci_address);
  const ungrouped = functions.map((fn) => (vfs.includes(fn.address) ? { ...fn, iommu_group: null } : fn));
  await refuseUnbound(without, ungrouped, hasAll);
  await refuses(refuseUnbound(machine, ungrouped, hasAll), 'blocked');
});

test('a group without its device file prevents the start', () =>
  assert.rejects(
    refuseUnbound(machine, functions, async (group) => group !== 2),
    refused('vfio_group_unavailable', /^\/dev\/vfio\/2/),
  ));

test('the disk must be the planned one, and its use by the host prevents the start', () => {
  const disks = machine.plan.slots.map(
    (slot) =>
      ({
        device: slot.nvme_device,
        serial: slot.nvme_serial,
        mounts: [],
        holders: [],
        is_swap: false,
        is_boot: false,
      }) as unknown as DiskFacts,
  );
  const changed = (change: Partial<DiskFacts>) =>
    disks.map((disk, index) => (index === 1 ? { ...disk, ...change } : disk));
  refuseDisks(machine, disks);
  assert.throws(() => refuseDisks(machine, disks.slice(1)), refused('drift', /is missing/));
  assert.throws(() => refuseDisks(machine, changed({ serial: 'OTHER' })), refused('drift', /disk OTHER/));
  assert.throws(() => refuseDisks(machine, changed({ mounts: ['/mnt'] })), refused('blocked', /\/mnt/));
  assert.throws(() => refuseDisks(machine, changed({ holders: ['md0'] })), refused('blocked', /md0/));
  assert.throws(() => refuseDisks(machine, changed({ is_swap: true })), refused('blocked', /swap/));
});

test('huge pages must be free on every NUMA node of the plan', () => {
  const wide = machineOf(8);
  const pages = (free: number) => [0, 1].map((node) => ({ node, size_kib: 1024 ** 2, total: 512, free }));
  refuseWithoutPages(wide, pages(256));
  assert.throws(() => refuseWithoutPages(wide, pages(255)), refused('no_space', /255 free pages .* 256 are needed/));
  assert.throws(() => refuseWithoutPages(wide, pages(512).slice(1)), refused('no_space', /node 0 has 0/));
  refuseWithoutPages(machineOf(1, { hugepages: null }), []);
});

test('without a strict NUMA policy huge pages may be free anywhere on the host', () => {
  const pages = (...free: number[]) => free.map((one, node) => ({ node, size_kib: 1024 ** 2, total: 512, free: one }));
  for (const given of [{ numa_policy: 'preferred' as const }, { numa_policy: 'none' as const, numa_nodes: [] }]) {
    refuseWithoutPages(machineOf(1, given), pages(10, 54));
    assert.throws(
      () => refuseWithoutPages(machineOf(1, given), pages(10, 53)),
      refused('no_space', /host has 63 free pages .* 64 are needed/),
    );
  }
});

test('no resource of a running VM goes to another VM', () => {
  const other = { ...machine, name: 'gpuaas-other' };
  const parsed = parseDomain(compileDomain(machine, hostProfile()));
  const known = (state: 'running' | 'paused' | 'shut_off') => [{ uuid: '', state, parsed }];
  assert.throws(() => refuseShared(other, known('running')), refused('conflict', /0000:19:00\.0.*in use by VM/));
  assert.throws(() => refuseShared(other, known('paused')), refused('conflict', /02:00:00:00:00:10/));
  // Also its fabric function, which may not be passed through to either of them.
  const onlyFabric = parsed.hostdevs.filter(({ address }) => address === '0000:1a:00.1');
  const holder = { ...parsed, hostdevs: onlyFabric, drives: [], nics: [] };
  assert.throws(
    () => refuseShared({ ...other, passes_fabric: false }, [{ uuid: '', state: 'running', parsed: holder }]),
    refused('conflict', /^0000:1a:00\.1 is in use by VM/),
  );
  refuseShared(other, known('shut_off'));
  refuseShared(machine, known('running'));
});
