/**
 * Blockers of a candidate's approval, in words an operator can act on. An unreadable fact blocks like a bad one;
 * unknown never counts as fine.
 */

import type { Blocker, Candidate, HostFacts } from '@gpuaas/contract/node';
import { isReportingDriver, partitioningOffOf } from '../host/linux/gpu/vendors.ts';
import { block, type JudgedCandidate, list, NO_SWITCH, type Rule, under } from './blocker-rule.ts';
import { drive } from './disk-blockers.ts';
import { isInfiniband } from './kinds.ts';
import { factOf, reasonOf } from './read.ts';

/** Which field suffers when a part of the facts is unreadable. Images do not make a slot. */
const PARTS = {
  system: 'numa_node',
  pci: 'gpu_pci_address',
  iommu_groups: 'iommu_group',
  gpus: 'gpu_uuid',
  disks: 'nvme_serial',
  nics: 'fabric_vf_guid',
  fabric: 'module_id',
  network: 'private_ip',
  tools: 'wipe_method',
} as const satisfies Partial<Record<keyof HostFacts, keyof Candidate>>;

const unreadable: Rule = ({ facts }) =>
  (Object.keys(PARTS) as (keyof typeof PARTS)[]).flatMap((part) => {
    const reason = reasonOf(facts[part]);
    return reason === null
      ? []
      : block(
          'facts_unreadable',
          PARTS[part],
          `The host's ${part.replace('_', ' ')} could not be read: ${reason.replace(/[.\s]+$/, '')}. Fix that and run discovery again.`,
        );
  });

/** A driver that lists some GPUs but not this one has lost it. */
const gpu: Rule = ({ place, facts, found }) => {
  if (place.gpu === null)
    return block(
      'gpu_missing',
      'gpu_pci_address',
      `A disk and a network card are${under(place)}, but no GPU: it may have fallen off the bus. Reseat or replace it, then run discovery again.`,
    );
  const driver = place.gpu.driver;
  const isListed = factOf(facts.gpus)?.some((one) => one.pci_address === found.gpu_pci_address) !== false;
  const blockers =
    isReportingDriver(driver) && !isListed
      ? block(
          'gpu_unreadable',
          'gpu_uuid',
          `The driver ${driver} holds GPU ${found.gpu_pci_address} but does not report it. Check the kernel log, reset or replace the GPU, then run discovery again.`,
        )
      : [];
  if (found.mig_mode === 'enabled')
    blockers.push(...block('mig_enabled', 'mig_mode', `MIG is enabled. ${partitioningOffOf(place.gpu.vendor_id)}`));
  const children = found.mediated_devices + place.gpu.virtual_functions.length;
  if (children > 0)
    blockers.push(
      ...block(
        'vgpu_children',
        'mediated_devices',
        `${children} virtual GPU${children === 1 ? ' was' : 's were'} on this GPU. Remove them before the GPU can be assigned.`,
      ),
    );
  const switches = factOf(facts.fabric)?.nvswitches.length ?? 0;
  if (switches > 0 && found.module_id === null)
    blockers.push(
      ...block(
        'module_id_missing',
        'module_id',
        `The host has ${switches} NVSwitches, and GPUs share them by module ID, which only the host driver reports. Bind the GPU to the nvidia driver once and run discovery again.`,
      ),
    );
  return blockers;
};

const ZERO_GUID = /^[0:]*$/;

const fabric: Rule = ({ place, facts, found, vf_nic, card_nic }) => {
  if (place.card === null)
    return block(
      'vf_missing',
      'fabric_vf_pci_address',
      place.upstream_port === null
        ? `${NO_SWITCH}: no network card.`
        : `No fabric card is${under(place)}. Install one there, then run discovery again.`,
    );
  if (found.fabric_vf_pci_address === null)
    return block(
      'vf_missing',
      'fabric_vf_pci_address',
      place.card.virtual_functions_max === 0
        ? `Card ${place.card.address} has no virtual functions. Enable SR-IOV in its firmware (mlxconfig SRIOV_EN=1 NUM_OF_VFS=8) and restart the host.`
        : `Card ${place.card.address} has ${place.vfs_of_card} virtual functions, too few for one per slot. Write a larger number to its sriov_numvfs.`,
    );
  if (reasonOf(facts.nics) !== null || !isInfiniband(place.card, card_nic)) return [];
  if (found.fabric_vf_guid === null && vf_nic?.guid == null)
    return block(
      'vf_guid_unreadable',
      'fabric_vf_guid',
      `The GUID of virtual function ${found.fabric_vf_pci_address} could not be read. Bind it to its driver once, or set a GUID through the card's sriov directory.`,
    );
  return ZERO_GUID.test(found.fabric_vf_guid ?? '')
    ? block(
        'vf_guid_zero',
        'fabric_vf_guid',
        `Virtual function ${found.fabric_vf_pci_address} has a GUID of zeros and would not join the fabric. Set its node and port GUID, then run discovery again.`,
      )
    : [];
};

const HOW_GROUPS = 'Enable the IOMMU in firmware and on the kernel command line, then restart the host';

const isolation: Rule = ({ facts, found, place, vf_iommu_group }) => {
  if (reasonOf(facts.iommu_groups) !== null) return [];
  const blockers: Blocker[] = [];
  if (place.gpu !== null && found.iommu_group === null)
    blockers.push(
      ...block(
        'iommu_group_missing',
        'iommu_group',
        `GPU ${found.gpu_pci_address} is in no IOMMU group. ${HOW_GROUPS}.`,
      ),
    );
  if (found.fabric_vf_pci_address !== null && vf_iommu_group === null)
    blockers.push(
      ...block(
        'iommu_group_missing',
        'fabric_vf_pci_address',
        `Virtual function ${found.fabric_vf_pci_address} is in no IOMMU group. ${HOW_GROUPS}.`,
      ),
    );
  if (found.iommu_group_other_devices.length > 0)
    blockers.push(
      ...block(
        'iommu_group_shared',
        'iommu_group_other_devices',
        `The slot's IOMMU groups also hold ${list(found.iommu_group_other_devices)}, which the slot does not include. Enable ACS for the switch ports in firmware, then restart the host.`,
      ),
    );
  return blockers;
};

const suggestions: Rule = ({ found }) =>
  found.private_ip === null
    ? block(
        'private_ip_missing',
        'private_ip',
        `The private network has no free address for slot ${found.slot_index}. Configure a larger network.`,
      )
    : [];

const RULES: readonly Rule[] = [unreadable, gpu, drive, fabric, isolation, suggestions];

/** Without the PCI tree nothing is known about pairs. */
export const blockersOf = (judged: JudgedCandidate): Blocker[] =>
  'unreadable' in judged.facts.pci ? unreadable(judged) : RULES.flatMap((rule) => rule(judged));
