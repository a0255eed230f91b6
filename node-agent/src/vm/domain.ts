/**
 * From a plan and a host profile to libvirt's XML: a pure function. The same plan on the same host gives the same text,
 * including IDs, so that defining it again changes nothing. `domain-read.ts` reads it back.
 */
import { HostError, type VmPlan } from '../host/host.ts';
import { domainName } from '../tasks/names.ts';
import { type CpuPlan, planCpus } from './cpu-plan.ts';
import { devices } from './domain-devices.ts';
import { allocationId, path, vmName } from './grammar.ts';
import { type HostProfile, vmPaths } from './host-profile.ts';
import { OWNER_NAMESPACE, planHash, vmUuid } from './identity.ts';
import { type PciPlan, planPci } from './pci-plan.ts';
import { standInArguments } from './stand-in.ts';
import { element, writeXml, type XmlElement } from './xml.ts';

const QEMU_NAMESPACE = 'http://libvirt.org/schemas/domain/qemu/1.0';

export const firmwareArguments = (pci: PciPlan): readonly string[] => [
  '-fw_cfg',
  `name=opt/ovmf/X-PciMmio64Mb,string=${pci.mmio64_mib}`,
];

const isSecure = ({ boot }: HostProfile, plan: VmPlan['plan']): boolean =>
  boot.kind === 'uefi' && boot.secure_profiles.includes(plan.profile);

const os = (machine: VmPlan, profile: HostProfile): XmlElement => {
  const type = element('type', { arch: 'x86_64', machine: profile.machine_type }, 'hvm');
  const { boot } = profile;
  if (boot.kind === 'kernel')
    return element(
      'os',
      {},
      type,
      element('kernel', {}, path(boot.kernel)),
      ...(boot.initrd === null ? [] : [element('initrd', {}, path(boot.initrd))]),
      element('cmdline', {}, boot.command_line),
    );
  const secure = isSecure(profile, machine.plan);
  const firmware = secure ? boot.secure : boot.plain;
  if (firmware === null)
    throw new HostError(
      'blocked',
      `profile ${machine.plan.profile} needs secure boot; this host has no firmware for it`,
    );
  return element(
    'os',
    {},
    type,
    element('loader', { readonly: 'yes', secure: secure ? 'yes' : 'no', type: 'pflash' }, path(firmware.code)),
    element('nvram', { template: path(firmware.vars_template) }, vmPaths(profile, machine.name).nvram),
  );
};

const cpu = ({ cells }: CpuPlan, profile: HostProfile): XmlElement => {
  const numa =
    cells.length === 0
      ? []
      : [
          element(
            'numa',
            {},
            ...cells.map((cell) =>
              element('cell', {
                id: cell.id,
                cpus: cell.vcpus.map(({ vcpu }) => vcpu).join(','),
                memory: cell.memory_kib,
                unit: 'KiB',
              }),
            ),
          ),
        ];
  // An emulated CPU has fixed address bits; a real one must not be shown fewer than the window needs.
  return profile.accelerator === 'tcg'
    ? element('cpu', { mode: 'maximum', check: 'none' }, ...numa)
    : element(
        'cpu',
        { mode: 'host-passthrough', check: 'none', migratable: 'off' },
        element('maxphysaddr', { mode: 'passthrough' }),
        ...numa,
      );
};

const tuning = (machine: VmPlan, cpus: CpuPlan): readonly XmlElement[] => {
  const { plan } = machine;
  const mode = plan.numa_policy === 'preferred' ? 'preferred' : 'strict';
  const pins = cpus.cells.flatMap((cell) => cell.vcpus);
  return [
    element(
      'cputune',
      {},
      ...pins.map((pin) => element('vcpupin', { vcpu: pin.vcpu, cpuset: pin.cpus })),
      ...(cpus.floating === ''
        ? []
        : [
            element('emulatorpin', { cpuset: cpus.floating }),
            ...plan.slots.map((_, index) => element('iothreadpin', { iothread: index + 1, cpuset: cpus.floating })),
          ]),
    ),
    ...(cpus.cells.length === 0
      ? []
      : [
          element(
            'numatune',
            {},
            // libvirt takes several nodes only for strict memory; each cell names its own in any case.
            ...(mode === 'strict'
              ? [element('memory', { mode, nodeset: cpus.cells.map((cell) => cell.host_node).join(',') })]
              : []),
            ...cpus.cells.map((cell) => element('memnode', { cellid: cell.id, mode, nodeset: cell.host_node })),
          ),
        ]),
    element(
      'memoryBacking',
      {},
      ...(plan.hugepages === null
        ? []
        : [element('hugepages', {}, element('page', { size: plan.hugepages.size_kib, unit: 'KiB' }))]),
      // Memory pages shared between guests would leak content from one tenant to another.
      element('nosharepages'),
    ),
  ];
};

const owner = (machine: VmPlan): XmlElement =>
  element(
    'metadata',
    {},
    element('gpuaas:machine', {
      'xmlns:gpuaas': OWNER_NAMESPACE,
      allocation_id: allocationId(machine.allocation_id),
      plan_sha256: planHash(machine.plan),
    }),
  );

export const compileDomain = (machine: VmPlan, profile: HostProfile): string => {
  if (vmName(machine.name) !== domainName(machine.allocation_id))
    throw new HostError('conflict', `${machine.name} is not the VM name of ${machine.allocation_id}`);
  const cpus = planCpus(machine.plan, profile);
  const pci = planPci(machine, profile, cpus.memory_kib);
  const past = [
    ...(profile.boot.kind === 'uefi' ? firmwareArguments(pci) : []),
    ...(profile.passthrough === 'emulated' ? standInArguments(machine) : []),
  ];
  return writeXml(
    element(
      'domain',
      {
        type: profile.accelerator === 'kvm' ? 'kvm' : 'qemu',
        'xmlns:qemu': past.length > 0 ? QEMU_NAMESPACE : null,
      },
      element('name', {}, machine.name),
      element('uuid', {}, vmUuid(machine.allocation_id)),
      owner(machine),
      element('memory', { unit: 'KiB' }, cpus.memory_kib),
      element(
        'vcpu',
        { placement: 'static', cpuset: cpus.floating === '' ? null : cpus.floating },
        machine.plan.vcpu_count,
      ),
      element('iothreads', {}, machine.plan.slots.length),
      ...tuning(machine, cpus),
      os(machine, profile),
      element(
        'features',
        {},
        element('acpi'),
        element('apic'),
        ...(isSecure(profile, machine.plan) ? [element('smm', { state: 'on' })] : []),
      ),
      cpu(cpus, profile),
      element('clock', { offset: 'utc' }, element('timer', { name: 'hpet', present: 'no' })),
      element('on_poweroff', {}, 'destroy'),
      element('on_reboot', {}, 'restart'),
      element('on_crash', {}, 'destroy'),
      devices(machine, profile, pci),
      ...(past.length > 0
        ? [element('qemu:commandline', {}, ...past.map((value) => element('qemu:arg', { value })))]
        : []),
    ),
  );
};
