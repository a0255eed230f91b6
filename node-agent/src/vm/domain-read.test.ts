import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALLOCATION, hostProfile, machineOf } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { compileDomain } from './domain.ts';
import { assertSame, assertSameButFabric, parseDomain } from './domain-read.ts';

const refused = (code: string, pattern: RegExp) => (err: unknown) =>
  err instanceof HostError && err.code === code && pattern.test(err.message);

describe('differences between a domain and its plan are reported', () => {
  const machine = machineOf(2);
  const xml = compileDomain(machine, hostProfile());
  const edits: readonly [string, string | RegExp, string, RegExp][] = [
    [
      'with a device more',
      '</devices>',
      `<hostdev mode="subsystem" type="pci" managed="no"><source><address domain="0x0000" bus="0x9b" slot="0x00" function="0x0"/></source></hostdev></devices>`,
      /passed through/,
    ],
    ['with another device', 'bus="0x19"', 'bus="0x9b"', /0000:9b:00\.0/],
    ['with a device that libvirt binds', 'managed="no"', 'managed="yes"', /libvirt would bind/],
    ['with another drive', 'S6XYNE0T90001"', 'S6XYNE0T90007"', /its drives/],
    [
      'with a file as a drive',
      '</devices>',
      '<disk type="file" device="disk"><source file="/etc/shadow"/></disk></devices>',
      /what else it has/,
    ],
    ['with a screen', '</devices>', '<graphics type="vnc" port="5900"/></devices>', /graphics vnc/],
    [
      'with a directory of the host',
      '</devices>',
      '<filesystem type="mount"><source dir="/"/></filesystem></devices>',
      /filesystem/,
    ],
    ['with a USB device', '</devices>', '<hostdev mode="subsystem" type="usb"/></devices>', /hostdev subsystem usb/],
    ['with another MAC', '02:00:00:00:00:10', '02:00:00:00:00:11', /its network/],
    ['with a second network', '</devices>', '<interface type="user"/></devices>', /interface user/],
    ['with a script that libvirt runs', '<rom enabled="no"/>', '<script path="/bin/sh"/>', /its network/],
    ['on another port', '<target dev="gp', '<target dev="gq', /its network/],
    [
      'with an emulated device',
      '</qemu:commandline>',
      '<qemu:arg value="-device"/><qemu:arg value="edu,id=stand-in-0000.9b.00.0,bus=pcie.0,addr=0x10"/></qemu:commandline>',
      /what is emulated/,
    ],
    [
      'with an argument past libvirt',
      '</qemu:commandline>',
      '<qemu:arg value="-monitor"/></qemu:commandline>',
      /arguments beside libvirt/,
    ],
    ['of another allocation', ALLOCATION, 'alc_other', /its allocation/],
    ['with a tag in a namespace that is not ours', 'urn:gpuaas:machine:1', 'urn:else', /its allocation is null/],
    ['with memory pages that are shared', /<nosharepages ?\/>/, '', /its sharing of memory pages is true/],
    ['with less memory', `>${128 * 1024 ** 2}<`, '>1024<', /its memory/],
  ];
  for (const [name, from, to, expected] of edits)
    it(name, () => {
      const changed = xml.replace(from, to);
      assert.notEqual(changed, xml);
      assert.throws(() => assertSame(machine, parseDomain(changed)), refused('conflict', expected));
    });
});

describe('a VM that is off', () => {
  const machine = machineOf(2);
  const without = { ...machine, passes_fabric: false };

  it('may be defined with or without the fabric functions of its slots', () => {
    for (const defined of [machine, without])
      for (const wanted of [machine, without])
        assertSameButFabric(wanted, parseDomain(compileDomain(defined, hostProfile())));
    assert.throws(
      () => assertSame(without, parseDomain(compileDomain(machine, hostProfile()))),
      refused('conflict', /passed through/),
    );
  });

  it('differs in nothing else', () => {
    const xml = compileDomain(machine, hostProfile());
    const changed = parseDomain(xml.replace('02:00:00:00:00:10', '02:00:00:00:00:11'));
    for (const wanted of [machine, without])
      assert.throws(() => assertSameButFabric(wanted, changed), refused('conflict', /its network/));
    const half = parseDomain(xml.replace('bus="0x1a"', 'bus="0x9c"'));
    for (const wanted of [machine, without])
      assert.throws(() => assertSameButFabric(wanted, half), refused('conflict', /passed through/));
  });
});
