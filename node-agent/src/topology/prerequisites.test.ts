import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostFacts, HypervisorFacts, Prerequisite } from '@gpuaas/contract/node';
import { H200_PLANS, machineFacts } from '../../test/vm-facts.ts';
import { topologyOf } from './topology.ts';

const SETTINGS = { node_id: 'nod_01jtest0000000000000000001', accelerators: [], private_network: '10.100.0.0/24' };
const ABLE: HypervisorFacts = {
  libvirt_version: '9.0.0',
  kvm: { is_usable: true, reason: null },
  accelerator: 'kvm',
  missing_files: [],
};
const able = (over: Partial<HypervisorFacts>): Partial<HostFacts> => ({ hypervisor: { value: { ...ABLE, ...over } } });

const check = (name: string, over: Partial<HostFacts> = {}): Prerequisite & { reboot_required: boolean } => {
  const { prerequisites, reboot_required } = topologyOf({ ...machineFacts(H200_PLANS), ...over }, SETTINGS);
  const found = prerequisites.find((one) => one.name === name);
  assert.ok(found, name);
  return { ...found, reboot_required };
};
const system = (over: object): Partial<HostFacts> => {
  const facts = machineFacts(H200_PLANS).system;
  assert.ok('value' in facts);
  return { system: { value: { ...facts.value, ...over } } };
};
const network = (over: object): Partial<HostFacts> => {
  const facts = machineFacts(H200_PLANS).network;
  assert.ok('value' in facts);
  return { network: { value: { ...facts.value, ...over } } };
};

test('a /dev/kvm that cannot run a guest is not met, and a reboot is required', () => {
  assert.equal(check('kvm').is_met, true);
  assert.match(check('kvm', able({})).message, /a test VM ran on it/);
  const broken = check('kvm', able({ kvm: { is_usable: false, reason: 'timed out' } }));
  assert.deepEqual([broken.is_met, broken.needs_reboot, broken.reboot_required], [false, true, true]);
  assert.match(broken.message, /no test VM runs on it: timed out\. Enable virtualization/);
  assert.equal(check('kvm', { ...able({}), ...system({ has_kvm: false }) }).is_met, false);
});

test('a host configured for emulation needs no KVM', () => {
  const kvm = { is_usable: false, reason: 'disabled in the settings' };
  const found = check('kvm', { ...able({ accelerator: 'tcg', kvm }), ...system({ has_kvm: false }) });
  assert.deepEqual([found.is_met, found.reboot_required], [true, false]);
  assert.match(found.message, /emulated \(disabled in the settings\)/);
});

test('an installed libvirt that does not respond is not met', () => {
  assert.equal(check('libvirt', able({})).is_met, true);
  const silent = check('libvirt', able({ libvirt_version: null }));
  assert.deepEqual([silent.is_met, silent.reboot_required], [false, false]);
  assert.match(silent.message, /does not respond\. Start it/);
  assert.match(check('libvirt', { hypervisor: { unreadable: 'virsh failed' } }).message, /virsh failed/);
});

test('firmware that is configured but missing is named', () => {
  const missing = check('uefi_firmware', able({ missing_files: ['/usr/share/OVMF/OVMF_CODE_4M.fd'] }));
  assert.equal(missing.is_met, false);
  assert.match(missing.message, /^\/usr\/share\/OVMF\/OVMF_CODE_4M\.fd: missing\. Install ovmf/);
});

test('a condition that would prevent the first VM fails the host', () => {
  assert.equal(check('ovs', network({ unready: null })).is_met, true);
  const unready = check('ovs', network({ unready: 'Bridge ovsbr0 is down.' }));
  assert.deepEqual([unready.is_met, unready.message], [false, 'Bridge ovsbr0 is down.']);
});

test('missing tools that are needed to free an address are named', () => {
  const tools = machineFacts(H200_PLANS).tools;
  assert.ok('value' in tools);
  const without = tools.value.map((one) => (one.name === 'conntrack' ? { ...one, version: null } : one));
  assert.match(check('nat', { tools: { value: without } }).message, /conntrack is missing\. Install conntrack/);
});

test('a GPU bound to a host driver is reported with the IDs that bind it at boot', () => {
  const facts = machineFacts(H200_PLANS);
  assert.ok('value' in facts.pci);
  const held = facts.pci.value.map((fn) => (fn.device_id === '2335' ? { ...fn, driver: 'nvidia' } : fn));
  const found = check('vfio_pci', { pci: { value: held } });
  assert.equal(found.is_met, true);
  assert.match(found.message, /8 GPUs are bound to nvidia until allocated; vfio-pci\.ids=10de:2335/);
});

test('an empty image cache and a pending reboot do not make a host unschedulable', () => {
  assert.equal(check('image_cache', { images: { value: [] } }).is_met, true);
  assert.equal(check('image_cache', { images: { unreadable: 'no such directory' } }).is_met, false);
  const pending = check('pending_reboot', system({ is_reboot_pending: true }));
  assert.deepEqual([pending.is_met, pending.reboot_required], [true, false]);
  assert.match(pending.message, /Drain the host/);
});

test('a Fabric Manager that would reset partitions of running VMs on restart is not met', () => {
  const { fabric } = machineFacts(H200_PLANS);
  assert.ok('value' in fabric);
  const restart = (is_restart_mode: boolean) =>
    check('fabric_manager', {
      fabric: { value: { ...fabric.value, manager: { ...fabric.value.manager, is_restart_mode } } },
    });
  assert.equal(restart(true).is_met, true);
  assert.equal(restart(false).is_met, false);
  assert.match(restart(false).message, /Set FABRIC_MODE_RESTART=1/);
});
