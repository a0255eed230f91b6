/**
 * When candidates may become slots. They are judged by their evidence, and unreadable evidence is never ignored. Each
 * refusal names the field and the fix. A candidate may be refused because of another: if a card has fewer functions
 * than slots, the same fabric would be allocated twice.
 */
import { type Candidate, meetsLevel, type WipeLevel, wipeLevelOf } from '@gpuaas/contract/node';
import { DRIVER_FIELDS } from './topology.ts';

export type ApprovalProblem = Readonly<{ slot_index: number; field: string; code: string; message: string }>;

const PCI = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const BINDINGS = [
  ['gpu_pci_address', 'GPU PCI address', PCI, 'Check that the GPU is seated and visible, then rerun discovery.'],
  ['nvme_serial', 'NVMe serial', /^.+$/, 'Check the disk behind the GPU’s switch, then rerun discovery.'],
  ['nvme_device', 'NVMe device by id', /^\/dev\/disk\/by-id\/[A-Za-z0-9._:-]+$/, 'Check udev, then rerun discovery.'],
  ['mac_address', 'management MAC address', /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/, 'Rerun discovery.'],
  ['private_ip', 'private IP address', /^[0-9a-f.:]+$/, 'Widen the private network of the node, then rerun discovery.'],
  [
    'fabric_vf_pci_address',
    'fabric VF PCI address',
    PCI,
    'Create virtual functions on the card behind the GPU’s switch, then rerun discovery.',
  ],
  ['wipe_method', 'wipe method', /^.+$/, 'Set wipe_method, or replace the disk with one that can be wiped.'],
] as const;

const ONCE = [
  ['gpu_pci_address', 'the GPU'],
  ['fabric_vf_pci_address', 'the fabric VF'],
  ['nvme_serial', 'the NVMe disk'],
  ['mac_address', 'the MAC address'],
  ['private_ip', 'the private IP'],
  ['module_id', 'the module id'],
] as const;

const gapsOf = (found: Candidate): ApprovalProblem[] => {
  const problem = (field: keyof Candidate, code: string, message: string): ApprovalProblem => ({
    slot_index: found.slot_index,
    field,
    code,
    message: `Slot ${found.slot_index}: ${message}`,
  });
  const bindings = BINDINGS.flatMap(([field, name, grammar, fix]) => {
    const value = found[field];
    if (value === null) return [problem(field, 'required', `there is no ${name}. ${fix}`)];
    return grammar.test(value) ? [] : [problem(field, 'malformed', `"${value}" is not a valid ${name}. ${fix}`)];
  });
  return [
    ...bindings,
    // Without it the proof of a wipe has nothing to compare with.
    ...(found.nvme_serial !== null && (found.nvme_size_bytes ?? 0) <= 0
      ? [
          problem(
            'nvme_size_bytes',
            'required',
            'the size of the disk is unknown. Check the disk, then rerun discovery.',
          ),
        ]
      : []),
    ...(found.fabric_claim_mode === 'per_slot_vf'
      ? []
      : [
          problem(
            'fabric_claim_mode',
            'not_per_slot_vf',
            'the fabric would be shared. Assign it a dedicated virtual function.',
          ),
        ]),
    ...(found.fabric_vf_guid !== null && /^[0:.]+$/.test(found.fabric_vf_guid)
      ? [problem('fabric_vf_guid', 'guid_zero', 'its virtual function has no GUID. Assign one, then rerun discovery.')]
      : []),
    ...(found.nvme_mounts.length > 0
      ? [
          problem(
            'nvme_mounts',
            'mounted',
            `the disk is mounted at ${found.nvme_mounts.join(', ')}. Unmount it on the host, approve the disk for wiping, then rerun discovery.`,
          ),
        ]
      : []),
    ...(found.nvme_holders.length > 0
      ? [
          problem(
            'nvme_holders',
            'held',
            `the disk is in use by ${found.nvme_holders.join(', ')}. Remove it there, approve the disk for wiping, then rerun discovery.`,
          ),
        ]
      : []),
    ...(found.nvme_filesystems.length > 0
      ? [
          problem(
            'nvme_filesystems',
            'foreign_filesystem',
            `the disk holds ${found.nvme_filesystems.join(', ')} and has no wipe proof. Approve the disk for wiping, then rerun discovery.`,
          ),
        ]
      : []),
    ...(found.iommu_group === null
      ? [
          problem(
            'iommu_group',
            'required',
            'the GPU is in no IOMMU group. Enable the IOMMU in firmware and on the kernel command line, then reboot.',
          ),
        ]
      : []),
    ...(found.iommu_group_other_devices.length > 0
      ? [
          problem(
            'iommu_group',
            'reaches_beyond',
            `its IOMMU group also contains ${found.iommu_group_other_devices.join(', ')}. Enable ACS on the switch, then reboot.`,
          ),
        ]
      : []),
    ...(found.mig_mode === 'enabled'
      ? [
          problem(
            'mig_mode',
            'mig_enabled',
            'the GPU is in MIG mode. Disable MIG, reset the GPU, then rerun discovery.',
          ),
        ]
      : []),
    ...(found.mediated_devices > 0
      ? [
          problem(
            'mediated_devices',
            'has_vgpus',
            `the GPU has ${found.mediated_devices} vGPU children. Remove them, then rerun discovery.`,
          ),
        ]
      : []),
  ];
};

const sharedOf = (wanted: readonly Candidate[]): ApprovalProblem[] =>
  ONCE.flatMap(([field, name]) => {
    const first = new Map<string | number, number>();
    return wanted.flatMap((found) => {
      const value = found[field];
      if (value === null) return [];
      const other = first.get(value);
      if (other === undefined) {
        first.set(value, found.slot_index);
        return [];
      }
      return [
        {
          slot_index: found.slot_index,
          field,
          code: 'duplicate',
          message: `Slots ${other} and ${found.slot_index} share ${name} ${value}. Approve one of them.`,
        },
      ];
    });
  });

/** `all` are the host's candidates: the other slots of a card matter even if they are not approved now. */
const parentsOf = (wanted: readonly Candidate[], all: readonly Candidate[]): ApprovalProblem[] =>
  wanted.flatMap((found) => {
    const parent = found.fabric_parent_pci_address;
    if (parent === null) return [];
    const without = all.filter(
      (other) => other.fabric_parent_pci_address === parent && other.fabric_claim_mode !== 'per_slot_vf',
    );
    return without.length === 0 || without.some((other) => other.slot_index === found.slot_index)
      ? []
      : [
          {
            slot_index: found.slot_index,
            field: 'fabric_parent_pci_address',
            code: 'shared_parent',
            message: `Slot ${found.slot_index}: its card ${parent} also serves slot ${without.map((other) => other.slot_index).join(', ')}, which has no dedicated virtual function. Assign one to every slot of the card.`,
          },
        ];
  });

export type ApprovalContext = Readonly<{
  /** The board has fabric sets, so every slot needs its module ID. */
  has_fabric: boolean;
  /** Every candidate of the host. */
  all: readonly Candidate[];
  /** The weakest wipe level that the region allows. */
  wipe_minimum: WipeLevel;
}>;

/** Found at approval instead of after the first tenant: the disk cannot be wiped as required. */
const erasesOf = (wanted: readonly Candidate[], { all, wipe_minimum }: ApprovalContext): ApprovalProblem[] =>
  wanted.flatMap(({ slot_index, wipe_method }) => {
    if (wipe_method === null) return [];
    const problem = (code: string, message: string): ApprovalProblem[] => [
      { slot_index, field: 'wipe_method', code, message: `Slot ${slot_index}: ${message}` },
    ];
    const level = wipeLevelOf(wipe_method);
    const offered = all.find((found) => found.slot_index === slot_index)?.wipe_method ?? wipe_method;
    const canPurge = meetsLevel(wipeLevelOf(offered), 'purge');
    if (level === 'purge' && !canPurge)
      return problem(
        'not_offered',
        `its disk does not support ${wipe_method}. Set wipe_method to ${offered}, or replace the disk.`,
      );
    if (meetsLevel(level, wipe_minimum)) return [];
    const fix = canPurge
      ? `Set wipe_method to ${offered}.`
      : 'The disk supports no stronger method. Replace it, or lower the wipe level of the region.';
    return problem('below_minimum', `the region requires wipe level purge, but ${wipe_method} reaches clear. ${fix}`);
  });

/**
 * Other blockers reported by the agent. A blocker about a field that only a driver reports is resolved once the field
 * is known.
 */
const driverBlockers = (wanted: readonly Candidate[], own: readonly ApprovalProblem[]): ApprovalProblem[] =>
  wanted.flatMap((found) =>
    found.blockers
      .filter(({ field }) => !own.some((problem) => problem.slot_index === found.slot_index && problem.field === field))
      .filter(({ field }) => !(DRIVER_FIELDS.has(field) && found[field as keyof Candidate] !== null))
      .map(({ code, field, message }) => ({
        slot_index: found.slot_index,
        field,
        code,
        message: `Slot ${found.slot_index}: ${message}`,
      })),
  );

export const approvalProblems = (wanted: readonly Candidate[], context: ApprovalContext): ApprovalProblem[] => {
  const own = [
    ...wanted.flatMap(gapsOf),
    ...(context.has_fabric
      ? wanted
          .filter((found) => found.module_id === null)
          .map((found) => ({
            slot_index: found.slot_index,
            field: 'module_id',
            code: 'required',
            message: `Slot ${found.slot_index}: there is no module ID, which the fabric partitions need. Load the GPU driver on the host, then rerun discovery.`,
          }))
      : []),
    ...sharedOf(wanted),
    ...parentsOf(wanted, context.all),
    ...erasesOf(wanted, context),
  ];
  return [...own, ...driverBlockers(wanted, own)];
};
