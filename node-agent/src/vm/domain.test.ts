import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALLOCATION, hostProfile, machineOf } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { compileDomain } from './domain.ts';
import { assertSame, parseDomain } from './domain-read.ts';
import { placesOf } from './host-profile.ts';
import { elementAt, elementsOf, readXml, textOf } from './xml.ts';

const refused = (code: string, pattern: RegExp) => (err: unknown) =>
  err instanceof HostError && err.code === code && pattern.test(err.message);
const controllers = (xml: string, model: string) =>
  elementsOf(elementAt(readXml(xml), 'devices'), 'controller').filter((one) => one.attributes['model'] === model);

describe('a compiled domain', () => {
  for (const gpus of [1, 2, 4, 8])
    it(`reads back as its plan, with ${gpus} GPUs`, () => {
      const machine = machineOf(gpus);
      const parsed = parseDomain(compileDomain(machine, hostProfile()));
      assertSame(machine, parsed);
      assert.equal(parsed.hostdevs.length, gpus * 2);
      assert.equal(parsed.drives[0]?.target, 'vda');
      assert.equal(parsed.allocation_id, ALLOCATION);
    });

  it('has no fabric function where the task does not say so, as a real device or an emulated one', () => {
    const machine = { ...machineOf(2), passes_fabric: false };
    const gpus = machine.plan.slots.map((slot) => slot.gpu_pci_address);
    const parsed = parseDomain(compileDomain(machine, hostProfile()));
    assertSame(machine, parsed);
    assert.deepEqual(parsed.hostdevs.map((one) => one.address).toSorted(), gpus);
    const emulated = parseDomain(compileDomain(machine, hostProfile({ passthrough: 'emulated' })));
    assertSame(machine, emulated, 'emulated');
    assert.deepEqual(emulated.stand_ins.toSorted(), gpus);
  });

  it('takes memory as its NUMA policy says, and pages as its plan says', () => {
    const of = (given: Parameters<typeof machineOf>[1]) => {
      const machine = machineOf(8, given);
      const xml = compileDomain(machine, hostProfile());
      assertSame(machine, parseDomain(xml));
      return {
        memory: xml.match(/<memory mode="(\w+)"/)?.[1],
        cells: [...xml.matchAll(/<memnode cellid="(\d)" mode="(\w+)" nodeset="(\d)"/g)].map((one) => one.slice(1, 4)),
        guest_nodes: xml.match(/<cell id/g)?.length ?? 0,
        pins: xml.match(/<vcpupin/g)?.length ?? 0,
        page: xml.match(/<page size="(\d+)"/)?.[1],
      };
    };
    const page = '1048576';
    const cells = (mode: string) => [
      ['0', mode, '0'],
      ['1', mode, '1'],
    ];
    const strict = { memory: 'strict', cells: cells('strict'), guest_nodes: 2, pins: 192, page };
    assert.deepEqual(of({}), strict);
    assert.deepEqual(of({ numa_policy: 'strict' }), strict);
    // libvirt takes one node only for preferred memory of the whole VM: each cell has its own.
    assert.deepEqual(of({ numa_policy: 'preferred' }), { ...strict, memory: undefined, cells: cells('preferred') });
    const none = { memory: undefined, cells: [], guest_nodes: 0, pins: 0 };
    assert.deepEqual(of({ numa_policy: 'none', numa_nodes: [] }), { ...none, page });
    assert.deepEqual(of({ numa_policy: 'none', numa_nodes: [], hugepages: null }), { ...none, page: undefined });
    const small = { size_kib: 2048, count: 262_144 };
    assert.deepEqual(of({ hugepages: small }), { ...strict, page: '2048' });
  });

  it('is the same text each time', () =>
    assert.equal(compileDomain(machineOf(4), hostProfile()), compileDomain(machineOf(4), hostProfile())));

  it('boots from the disk of the boot slot, wherever that is in the plan', () => {
    const machine = machineOf(4, { boot_slot_id: 'slt_2' });
    const parsed = parseDomain(compileDomain(machine, hostProfile()));
    assert.deepEqual(
      parsed.drives.map((one) => one.serial?.at(-1)),
      ['2', '0', '1', '3'],
    );
    assertSame(machine, parsed);
  });

  it('has an expander for each root complex of the host, on the same NUMA node', () => {
    const expanders = controllers(compileDomain(machineOf(8), hostProfile()), 'pcie-expander-bus');
    assert.deepEqual(
      expanders.map((one) => textOf(elementAt(one, 'target', 'node'))),
      ['0', '0', '0', '0', '1', '1', '1', '1'],
    );
    const buses = expanders.map((one) => Number(elementAt(one, 'target')?.attributes['busNr']));
    // Each has a bus for itself and for its two ports, and none overlaps the next.
    assert.deepEqual(
      buses.slice(1).map((bus, index) => bus - (buses[index] ?? 0)),
      [3, 3, 3, 3, 3, 3, 3],
    );
    assert.ok((buses[7] ?? 0) + 2 <= 255);
  });

  it('has plain root ports where the host has one root complex', () => {
    const xml = compileDomain(machineOf(1), hostProfile());
    assert.equal(controllers(xml, 'pcie-expander-bus').length, 0);
    assert.equal(controllers(xml, 'pcie-root-port').length, 2);
  });

  it('has a 64-bit window for the BARs of all GPUs and passes it to the firmware', () => {
    const windows = [1, 2, 4, 8].map((gpus) => {
      const parsed = parseDomain(compileDomain(machineOf(gpus), hostProfile()));
      const mib = Number(/string=(\d+)$/.exec(parsed.arguments[1] ?? '')?.[1]);
      const hole = elementAt(controllers(compileDomain(machineOf(gpus), hostProfile()), 'pcie-root')[0], 'pcihole64');
      assert.equal(Number(textOf(hole)), mib * 1024);
      assert.ok(mib >= gpus * 256 * 1024);
      return mib / 1024;
    });
    assert.deepEqual(windows, [1024, 2048, 4096, 8192]);
  });

  it('pins each vCPU to the node of its memory, strictly and in huge pages', () => {
    const domain = readXml(compileDomain(machineOf(8), hostProfile()));
    const pins = elementsOf(elementAt(domain, 'cputune'), 'vcpupin');
    assert.equal(pins.length, 192);
    assert.equal(pins[0]?.attributes['cpuset'], '0-55,112-167');
    assert.equal(pins[191]?.attributes['cpuset'], '56-111,168-223');
    assert.equal(elementAt(domain, 'numatune', 'memory')?.attributes['mode'], 'strict');
    const cells = elementsOf(elementAt(domain, 'cpu', 'numa'), 'cell');
    assert.deepEqual(
      cells.map((cell) => Number(cell.attributes['memory'])),
      [256 * 1024 ** 2, 256 * 1024 ** 2],
    );
    assert.equal(elementAt(domain, 'memoryBacking', 'hugepages', 'page')?.attributes['size'], '1048576');
  });

  it('shares no memory pages with other VMs, with huge pages and without', () => {
    const plans = [machineOf(1), machineOf(1, { hugepages: null })];
    const backings = plans.map((machine) => elementAt(readXml(compileDomain(machine, hostProfile())), 'memoryBacking'));
    assert.deepEqual(
      backings.map((backing) => elementsOf(backing).map(({ name }) => name)),
      [['hugepages', 'nosharepages'], ['nosharepages']],
    );
  });

  it('gives each vCPU a dedicated CPU if CPUs are reserved', () => {
    const pinned = Array.from({ length: 24 }, (_, index) => index + 8);
    const domain = readXml(compileDomain(machineOf(1), hostProfile({ pinned_cpus: pinned })));
    assert.deepEqual(
      elementsOf(elementAt(domain, 'cputune'), 'vcpupin').map((pin) => Number(pin.attributes['cpuset'])),
      pinned,
    );
    assert.throws(
      () => compileDomain(machineOf(1), hostProfile({ pinned_cpus: pinned.slice(1) })),
      refused('blocked', /24 vCPUs need CPUs of their own on NUMA node 0, 23 are set aside/),
    );
  });

  it('uses secure boot if its profile requires it and the host supports it', () => {
    const machine = machineOf(1, { profile: 'slice-vm-secure' });
    const loader = elementAt(readXml(compileDomain(machine, hostProfile())), 'os', 'loader');
    assert.equal(loader?.attributes['secure'], 'yes');
    const boot = { ...hostProfile().boot, secure: null } as never;
    assert.throws(() => compileDomain(machine, hostProfile({ boot })), refused('blocked', /no firmware for it/));
  });

  it('boots a kernel directly under emulation, without firmware and its arguments', () => {
    const profile = hostProfile({
      accelerator: 'tcg',
      physical_address_bits: 40,
      boot: { kind: 'kernel', kernel: '/boot/vmlinuz', initrd: '/boot/initrd', command_line: 'console=ttyS0 quiet' },
      devices: hostProfile().devices.map((place) => ({ ...place, mmio64_bytes: 1024 ** 2, root_complex: '0000:00' })),
      numa: [],
    });
    const machine = machineOf(2, { hugepages: null });
    const xml = compileDomain(machine, profile);
    assertSame(machine, parseDomain(xml));
    assert.equal(readXml(xml).attributes['type'], 'qemu');
    assert.equal(textOf(elementAt(readXml(xml), 'os', 'cmdline')), 'console=ttyS0 quiet');
    assert.deepEqual(parseDomain(xml).arguments, []);
  });

  it('has an emulated device in place of each that cannot be passed through', () => {
    const machine = machineOf(2);
    const xml = compileDomain(machine, hostProfile({ passthrough: 'emulated' }));
    const parsed = parseDomain(xml);
    assert.deepEqual(parsed.hostdevs, []);
    assert.equal(xml.match(/"edu,/g)?.length, 2);
    assertSame(machine, parsed, 'emulated');
    assert.throws(() => assertSame(machine, parsed), refused('conflict', /what is passed through is \[\]/));
  });

  it('has no display', () => {
    const devices = elementAt(readXml(compileDomain(machineOf(1), hostProfile())), 'devices');
    assert.equal(elementsOf(devices, 'graphics').length, 0);
    assert.equal(elementAt(devices, 'video', 'model')?.attributes['type'], 'none');
  });
});

describe('an invalid plan is refused', () => {
  const vf = '0000:1a:00.1';
  const cases: readonly [string, () => unknown, ReturnType<typeof refused>][] = [
    [
      'whose fabric function carries the bridge',
      () => compileDomain(machineOf(1), hostProfile({ uplink_pci_address: vf })),
      refused('conflict', /carries the management network/),
    ],
    [
      'whose fabric function is made of the card that carries the bridge',
      () => compileDomain(machineOf(1), hostProfile({ uplink_pci_address: '0000:1a:00.0' })),
      refused('conflict', /carries the management network/),
    ],
    [
      'with a device that is not there',
      () => compileDomain(machineOf(2), hostProfile({ devices: hostProfile().devices.slice(0, 3) })),
      refused('drift', /no PCI function at 0000:3c:00.1/),
    ],
    [
      'with a device twice',
      () =>
        compileDomain(
          machineOf(1, {
            slots: [...machineOf(1).plan.slots, { ...machineOf(2).plan.slots[1], fabric_vf_pci_address: vf } as never],
          }),
          hostProfile(),
        ),
      refused('conflict', /0000:1a:00.1 is in the plan twice/),
    ],
    [
      'with a drive under a name that does not stay',
      () =>
        compileDomain(
          machineOf(1, { slots: machineOf(1).plan.slots.map((slot) => ({ ...slot, nvme_device: '/dev/nvme0n1' })) }),
          hostProfile(),
        ),
      refused('blocked', /not a persistent disk name/),
    ],
    [
      'with a drive whose path climbs',
      () =>
        compileDomain(
          machineOf(1, {
            slots: machineOf(1).plan.slots.map((slot) => ({ ...slot, nvme_device: '/dev/disk/by-id/../sda' })),
          }),
          hostProfile(),
        ),
      refused('blocked', /plain names/),
    ],
    [
      'whose window the CPU cannot address',
      () => compileDomain(machineOf(8), hostProfile({ physical_address_bits: 42 })),
      refused('blocked', /42 address bits do not reach/),
    ],
    [
      'with more vCPUs than CPUs',
      () => compileDomain(machineOf(1, { vcpu_count: 200 }), hostProfile()),
      refused('blocked', /200 vCPUs/),
    ],
    [
      'on a NUMA node that is gone',
      () => compileDomain(machineOf(1, { numa_nodes: [3] }), hostProfile()),
      refused('drift', /no NUMA node 3/),
    ],
    [
      'under the name of another',
      () => compileDomain({ ...machineOf(1), name: 'gpuaas-other' }, hostProfile()),
      refused('conflict', /is not the VM name/),
    ],
    [
      'without its boot slot',
      () => compileDomain(machineOf(1, { boot_slot_id: 'slt_9' }), hostProfile()),
      refused('conflict', /is to boot/),
    ],
  ];
  for (const [name, act, expected] of cases) it(name, () => assert.throws(act, expected));
});

describe('device locations', () => {
  it('name the root complex by the bus of the root port and count 64-bit BARs', () => {
    const fn = { address: '0000:19:00.0', root_port: '0000:15:01.0', numa_node: 0, physical_function: null };
    const bar = { index: 2, size_bytes: 2 ** 38, is_64bit: true, is_prefetchable: true };
    const bars = [bar, { ...bar, index: 0, size_bytes: 4096, is_64bit: false }];
    assert.deepEqual(placesOf([{ ...fn, bars } as never]), [
      { address: fn.address, root_complex: '0000:15', numa_node: 0, physical_function: null, mmio64_bytes: 2 ** 38 },
    ]);
  });
});
