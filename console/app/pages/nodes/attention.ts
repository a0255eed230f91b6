/** What somebody has to do about a node, in words. A node that was only just added waits for its agent and asks for nothing. */
import type { SlotMapRow } from '@gpuaas/sdk';
import { count } from '../../format/size.ts';
import type { Tone } from '../../format/state.ts';

export type NodeFlag = Readonly<{ word: string; tone: Tone; why: string; needsAttention: boolean }>;

const flag = (word: string, tone: Tone, why: string, needsAttention = true): NodeFlag => ({
  word,
  tone,
  why,
  needsAttention,
});

/** States in which nobody expects anything of a node. */
const isOver = ({ state }: SlotMapRow): boolean => ['retired', 'removing', 'deleted'].includes(state);
const isNew = ({ state }: SlotMapRow): boolean => state === 'bootstrap_issued' || state === 'enrolling';

export const flagsOf = (node: SlotMapRow): readonly NodeFlag[] => {
  if (isOver(node)) return [];
  const stuck = node.slots.filter(({ status }) => status === 'cleanup_blocked').length;
  const apart = node.slots.filter(({ status }) => status === 'quarantined').length;
  const ill = node.slots.filter(({ health }) => health === 'unhealthy').length;
  const isStuck = stuck > 0 || node.occupancy === 'cleanup_blocked';
  const flags: (NodeFlag | false)[] = [
    (node.state === 'offline' || (!isNew(node) && !node.is_connected)) &&
      flag('offline', 'bad', node.state_reason ?? 'Its agent is not connected.'),
    node.state === 'quarantined' && flag('quarantined', 'bad', node.state_reason ?? 'Nothing is placed on it.'),
    node.health === 'unhealthy' && flag('unhealthy', 'bad', 'An alert keeps it from being used; see its health.'),
    ill > 0 && flag(`${ill} ill`, 'bad', `${count(ill, 'slot')} unhealthy; health says why.`),
    isStuck &&
      flag(
        'cleanup blocked',
        'bad',
        stuck === 0
          ? 'The cleanup of the whole node is blocked.'
          : `The cleanup of ${count(stuck, 'slot')} is blocked.`,
      ),
    node.slots.length === 0 &&
      node.capacity_mode !== 'baremetal' &&
      !isNew(node) &&
      flag('nothing approved', 'warn', 'No slice is sold of it until candidates of its discovery are approved.'),
    node.health === 'unknown' &&
      node.state === 'active' &&
      node.is_connected &&
      flag('health unknown', 'warn', 'Nothing is placed on it until its health is known.'),
    apart > 0 && flag('apart', 'warn', `${count(apart, 'slot')} quarantined until repaired.`),
    node.has_hardware_change && flag('drift', 'warn', 'The newest discovery differs from what was approved.'),
    node.finding_count > 0 &&
      flag(count(node.finding_count, 'finding'), 'warn', 'The host is not as claims say; its inventory tells where.'),
    node.reboot_required && flag('reboot', 'warn', 'The host has to be restarted.'),
    node.is_held && flag('held', 'idle', 'Kept for bare metal.', false),
  ];
  return flags.filter((one) => one !== false);
};

export const needsAttention = (node: SlotMapRow): boolean => flagsOf(node).some((one) => one.needsAttention);
