/**
 * Whatever is put into a name, a key, a serial or user data, the generated documents keep their structure: the value is
 * refused, or it stays one value. Structure is compared after reading back, by the rules of the readers.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { assertReached } from '../../../tools/test/reached.ts';
import { hostProfile, KEY, machineOf } from '../../test/vm.ts';
import { HostError, type VmPlan } from '../host/host.ts';
import { cloudInit } from './cloud-init.ts';
import { compileDomain } from './domain.ts';
import { assertSame, parseDomain } from './domain-read.ts';
import { element, readXml, writeXml, type XmlNode } from './xml.ts';
import { readYaml, writeYaml } from './yaml.ts';

const PAYLOADS = [
  `x"/><hostdev mode="subsystem"/><a b="`,
  ']]><graphics type="vnc"/>',
  '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/shadow">]>&b;',
  '&lt;disk/&gt;',
  '&#60;disk/&#62;',
  'a\nusers: []',
  'a: b\n- c',
  '"\n"ssh_pwauth": true\n"x": "',
  '*alias &anchor !!python/object:os.system',
  '--==gpuaas-part==\nContent-Type: text/x-shellscript\n',
  'a\u2028b\u0085c\ufeffd',
  '\u202etxet',
  '$(reboot)`reboot`;reboot',
  '../../etc/passwd',
  'a,string=1 -monitor stdio',
  '__proto__',
  'null',
  'no',
  '0x1f',
];
const hostile = fc.oneof(
  fc.constantFrom(...PAYLOADS),
  fc.tuple(fc.constantFrom(...PAYLOADS), fc.string({ unit: 'binary', maxLength: 8 })).map(([a, b]) => `${b}${a}${b}`),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 40 }),
);
const RUNS = { numRuns: 150 };

/** If all values were refused, nothing would be proven about the documents. */
const KEPT_MIN = 5;

const outcome = <T>(act: () => T): T | null => {
  try {
    return act();
  } catch (err) {
    // Refused with a message; anything else is a bug.
    assert.ok(err instanceof HostError, String(err));
    return null;
  }
};

/** Names of elements and attributes, without their values. */
const skeleton = (node: XmlNode): unknown =>
  typeof node === 'string' ? '#' : [node.name, Object.keys(node.attributes), node.children.map(skeleton)];

const CLEAN = machineOf(2);
const CLEAN_DOMAIN = skeleton(readXml(compileDomain(CLEAN, hostProfile())));

type Edit = (machine: VmPlan, value: string) => VmPlan;
const inPlan =
  (change: (value: string) => Partial<VmPlan['plan']>): Edit =>
  (machine, value) => ({ ...machine, plan: { ...machine.plan, ...change(value) } });
const inSlot =
  (field: 'nvme_serial' | 'nvme_device' | 'gpu_pci_address' | 'fabric_vf_pci_address' | 'slot_id'): Edit =>
  (machine, value) => ({
    ...machine,
    plan: {
      ...machine.plan,
      slots: machine.plan.slots.map((slot, index) => (index === 1 ? { ...slot, [field]: value } : slot)),
    },
  });
const PLACES: Readonly<Record<string, Edit>> = {
  name: (machine, name) => ({ ...machine, name }),
  allocation_id: (machine, allocation_id) => ({ ...machine, allocation_id }),
  serial: inSlot('nvme_serial'),
  device: (machine, value) => inSlot('nvme_device')(machine, `/dev/disk/by-id/${value}`),
  gpu: inSlot('gpu_pci_address'),
  fabric: inSlot('fabric_vf_pci_address'),
  slot: inSlot('slot_id'),
  mac: inPlan((mac_address) => ({ mac_address })),
  port: inPlan((ovs_port) => ({ ovs_port })),
  cpuset: inPlan((cpuset) => ({ cpuset })),
  profile: inPlan((profile) => ({ profile })),
};

test('no value of a plan adds a node to a domain', () => {
  let kept = 0;
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(PLACES)), hostile, (place, value) => {
      const machine = PLACES[place]?.(CLEAN, value) ?? CLEAN;
      const xml = outcome(() => compileDomain(machine, hostProfile()));
      if (xml === null) return;
      kept += 1;
      assert.deepEqual(skeleton(readXml(xml)), CLEAN_DOMAIN);
      assertSame(machine, parseDomain(xml));
    }),
    RUNS,
  );
  assertReached({ kept }, KEPT_MIN);
});

test('an XML document returns the values put into it', () => {
  let kept = 0;
  fc.assert(
    fc.property(hostile, hostile, (attribute, text) => {
      const root = outcome(() => element('a', { b: attribute }, element('c', {}, `x${text}`)));
      if (root === null) return;
      kept += 1;
      assert.deepEqual(readXml(writeXml(root)), root);
    }),
    RUNS,
  );
  assertReached({ kept }, KEPT_MIN);
});

const withSeed = (seed: Partial<VmPlan['seed']>): VmPlan => ({ ...CLEAN, seed: { ...CLEAN.seed, ...seed } });
const GUEST = { username: 'gpuaas', accelerators: ['10de:2335'] };
const configOf = (machine: VmPlan) => parse(cloudInit(machine, GUEST)['user-data'], { version: '1.1' }) as unknown;
const shape = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(shape)
    : typeof value === 'object' && value !== null
      ? Object.entries(value).map(([key, item]) => [key, shape(item)])
      : typeof value;
const CLEAN_CONFIG = configOf(CLEAN);

test('no host name and no key adds a node to the seed', () => {
  const key = hostile.map((value) => `${KEY} ${value}`);
  let kept = 0;
  fc.assert(
    fc.property(fc.oneof(hostile, fc.constant('trainer')), fc.oneof(hostile, key), (name, line) => {
      const machine = withSeed({ hostname: name, ssh_public_keys: [line] });
      const files = outcome(() => cloudInit(machine, GUEST));
      if (files === null) return;
      kept += 1;
      assert.deepEqual(shape(parse(files['user-data'], { version: '1.1' })), shape(CLEAN_CONFIG));
      assert.deepEqual(Object.keys(parse(files['meta-data']) as object), ['instance-id', 'local-hostname']);
    }),
    RUNS,
  );
  assertReached({ kept }, KEPT_MIN);
});

const plain = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    hostile,
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(hostile, tie('value'), { maxKeys: 3 }),
  ),
})).value;

test('YAML returns the values put into it, in both versions', () => {
  let kept = 0;
  fc.assert(
    fc.property(plain, (value) => {
      if (!JSON.stringify(value).isWellFormed()) return;
      kept += 1;
      const text = writeYaml(value as never);
      assert.match(text, /^[\n\x20-\x7e]*$/);
      assert.deepEqual(readYaml(text), JSON.parse(JSON.stringify(value)));
      assert.deepEqual(parse(text, { version: '1.2' }), JSON.parse(JSON.stringify(value)));
    }),
    RUNS,
  );
  assertReached({ kept }, KEPT_MIN);
});

test('user data leaves the part of the platform unchanged and adds only its own keys', () => {
  const own = fc.dictionary(fc.constantFrom('packages', 'runcmd', 'timezone', 'apt', 'ntp', 'final_message'), plain);
  let kept = 0;
  fc.assert(
    fc.property(own, (config) => {
      const user_data = `#cloud-config\n${writeYaml(config as never)}`;
      const merged = outcome(() => configOf(withSeed({ user_data }))) as Record<string, unknown> | null;
      if (merged === null) return;
      kept += 1;
      assert.deepEqual(merged, { ...JSON.parse(JSON.stringify(config)), ...(CLEAN_CONFIG as object) });
    }),
    RUNS,
  );
  assert.ok(kept > RUNS.numRuns / 2);
});

test('user data of any text is refused or stays in its part', () => {
  const kept = { configs: 0, parts: 0 };
  fc.assert(
    fc.property(fc.constantFrom('#cloud-config\n', '#!/bin/sh\n', '#cloud-boothook\n', ''), hostile, (start, text) => {
      const files = outcome(() => cloudInit(withSeed({ user_data: `${start}${text}` }), GUEST));
      if (files === null) return;
      const data = files['user-data'];
      if (data.startsWith('#cloud-config')) {
        kept.configs += 1;
        const config = parse(data, { version: '1.1' }) as Record<string, unknown>;
        for (const [key, value] of Object.entries(CLEAN_CONFIG as object)) assert.deepEqual(config[key], value);
      } else {
        kept.parts += 1;
        assert.equal(data.match(/^--==gpuaas-part==$/gm)?.length, 2);
      }
    }),
    // Few texts form a separate document that is kept.
    { numRuns: 4 * RUNS.numRuns },
  );
  assertReached(kept, KEPT_MIN);
});
