/** What an operator has to do about a node. A node that was just added waits for its agent and needs no attention. */
import { OVER_NODE_STATES, type SlotMapRow } from '@gpuaas/sdk';
import { count } from '../../format/size.ts';
import type { Tone } from '../../format/state.ts';

export type NodeFlag = Readonly<{ word: string; tone: Tone; why: string; needsAttention: boolean }>;

const flag = (word: string, tone: Tone, why: string, needsAttention = true): NodeFlag => ({
  word,
  tone,
  why,
  needsAttention,
});

/** States in which a node needs no operator. */
const isRetired = ({ state }: SlotMapRow): boolean => OVER_NODE_STATES.some((over) => over === state);
const isNew = ({ state }: SlotMapRow): boolean => state === 'bootstrap_issued' || state === 'enrolling';

export const flagsOf = (node: SlotMapRow): readonly NodeFlag[] => {
  if (isRetired(node)) return [];
  const blocked = node.slots.filter(({ status }) => status === 'cleanup_blocked').length;
  const quarantined = node.slots.filter(({ status }) => status === 'quarantined').length;
  const unhealthy = node.slots.filter(({ health }) => health === 'unhealthy').length;
  const isBlocked = blocked > 0 || node.occupancy === 'cleanup_blocked';
  const flags: (NodeFlag | false)[] = [
    (node.state === 'offline' || (!isNew(node) && !node.is_connected)) &&
      flag('offline', 'bad', node.state_reason ?? 'The agent is not connected.'),
    node.health === 'unhealthy' && flag('unhealthy', 'bad', 'An alert blocks placement. See Health.'),
    unhealthy > 0 && flag(`${unhealthy} unhealthy`, 'bad', `${count(unhealthy, 'slot')} unhealthy. See Health.`),
    isBlocked &&
      flag(
        'cleanup blocked',
        'bad',
        blocked === 0 ? 'Cleanup of the node is blocked.' : `Cleanup of ${count(blocked, 'slot')} is blocked.`,
      ),
    node.slots.length === 0 &&
      node.capacity_mode !== 'baremetal' &&
      !isNew(node) &&
      flag('no approved slots', 'warn', 'Not schedulable for slices until candidates are approved.'),
    node.health === 'unknown' &&
      node.state === 'active' &&
      node.is_connected &&
      flag('health unknown', 'warn', 'Not schedulable until health is known.'),
    quarantined > 0 && flag('quarantined slots', 'warn', `${count(quarantined, 'slot')} quarantined until repaired.`),
    node.gpu_model_conflict !== null && flag('other GPU model', 'bad', node.gpu_model_conflict),
    node.unapproved_disks.length > 0 &&
      flag(
        node.unapproved_disks.every(({ is_wipe_pending }) => is_wipe_pending) ? 'disk wipe' : 'disk approval',
        'warn',
        `Not schedulable as bare metal: ${count(node.unapproved_disks.length, 'disk')} neither wiped under an approval nor excluded.`,
      ),
    node.has_hardware_change &&
      flag('hardware change', 'warn', 'The latest discovery differs from the approved slots.'),
    node.finding_count > 0 &&
      flag(count(node.finding_count, 'finding'), 'warn', 'The host differs from claims. See Inventory.'),
    node.reboot_required && flag('reboot', 'warn', 'The host needs a reboot.'),
    node.is_held && flag('held', 'idle', 'Held for bare metal.', false),
  ];
  return flags.filter((one) => one !== false);
};

export const needsAttention = (node: SlotMapRow): boolean => flagsOf(node).some((one) => one.needsAttention);
