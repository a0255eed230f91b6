/**
 * Domains against libvirt's own schema: the installed one and the recorded ones, as hosts run different versions. A
 * schema that accepts everything would pass too, so broken domains must fail it.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { RelaxNGValidator, XmlDocument } from 'libxml2-wasm';
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs';
import { requires } from '../../../tools/test/requires.ts';
import { fixturePath, requiresFixture } from '../../test/fixtures.ts';
import { hostProfile, machineOf } from '../../test/vm.ts';
import { compileDomain } from './domain.ts';
import type { HostProfile } from './host-profile.ts';

const INSTALLED = '/usr/share/libvirt/schemas';
const RECORDED = ['libvirt/schemas-debian-9.0.0', 'libvirt/schemas-v10.0.0', 'libvirt/schemas-head'];

const SOURCES = [
  {
    name: 'installed',
    folder: INSTALLED,
    skip: requires('libvirt-schemas'),
  },
  ...RECORDED.map((path) => ({ name: path, folder: fixturePath(path), skip: requiresFixture(path) })),
];

/** Schemas refer to each other by file. */
xmlRegisterFsInputProviders();

const openSchema = (folder: string) => {
  const file = join(folder, 'domain.rng');
  using schema = XmlDocument.fromBuffer(readFileSync(file), { url: pathToFileURL(file).href });
  const validator = RelaxNGValidator.fromDoc(schema);
  return {
    problem: (xml: string): string | null => {
      using document = XmlDocument.fromString(xml);
      try {
        validator.validate(document);
        return null;
      } catch (err) {
        return err instanceof Error ? err.message : String(err);
      }
    },
    [Symbol.dispose]: () => validator.dispose(),
  };
};

const KERNEL: Partial<HostProfile> = {
  accelerator: 'tcg',
  physical_address_bits: 40,
  boot: { kind: 'kernel', kernel: '/boot/vmlinuz', initrd: '/boot/initrd', command_line: 'console=ttyS0' },
  devices: hostProfile().devices.map((place) => ({ ...place, mmio64_bytes: 4096 })),
  nic: { driver: 'qemu', queues: 1, has_offloads: false },
};

for (const { name, folder, skip } of SOURCES)
  describe(`the schema of libvirt (${name})`, { skip }, () => {
    it('accepts every generated VM', () => {
      using schema = openSchema(folder);
      const machines = [
        ...[1, 2, 4, 8].map((gpus) => compileDomain(machineOf(gpus), hostProfile())),
        compileDomain(machineOf(2, { profile: 'slice-vm-secure', hugepages: null }), hostProfile()),
        compileDomain(machineOf(8, { numa_policy: 'preferred' }), hostProfile()),
        compileDomain(machineOf(8, { numa_policy: 'none', numa_nodes: [] }), hostProfile()),
        compileDomain(machineOf(2), hostProfile(KERNEL)),
        compileDomain(machineOf(2), hostProfile({ ...KERNEL, passthrough: 'emulated' })),
        compileDomain(machineOf(1), hostProfile({ nic: { ...hostProfile().nic, is_tuned: true } })),
        compileDomain(machineOf(1, { cpuset: '' }), hostProfile({ ...KERNEL, numa: [] })),
      ];
      for (const xml of machines) assert.equal(schema.problem(xml), null, xml);
    });

    it('rejects invalid ones', () => {
      using schema = openSchema(folder);
      const xml = compileDomain(machineOf(1), hostProfile());
      const broken = [
        xml.replace('managed="no"', 'managed="perhaps"'),
        xml.replace('<devices>', '<devices><gpu/>'),
        xml.replace('placement="static"', 'placement="anywhere"'),
      ];
      for (const text of broken) {
        assert.notEqual(text, xml);
        assert.notEqual(schema.problem(text), null);
      }
    });
  });
