/** How long a task of each kind may take, in seconds, before it is told to end: what is stuck must say so. */
import { CLEANUP_LIMIT_S, type TaskKind } from '@gpuaas/contract/node';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

export const TIME_LIMITS_S: Readonly<Record<TaskKind, number>> = {
  'diag.health_probe': 2 * MINUTE,
  'slice.topology_discover': 5 * MINUTE,
  'slice.bundle_lease': 2 * MINUTE,
  'image.pull': 2 * HOUR,
  'image.evict': 10 * MINUTE,
  'image.verify': HOUR,
  'slice.image_clone': 2 * HOUR,
  'slice.vm_start': 15 * MINUTE,
  'slice.vm_readiness': 30 * MINUTE,
  'slice.vm_reboot': 10 * MINUTE,
  'slice.vm_stop': 30 * MINUTE,
  'slice.cleanup': CLEANUP_LIMIT_S,
  'slice.reconcile': 15 * MINUTE,
  'slice.orphan_remove': 15 * MINUTE,
  'node.cleanup': CLEANUP_LIMIT_S,
  'allocation.provision_user': 5 * MINUTE,
  'allocation.install_authorized_keys': 5 * MINUTE,
  'allocation.deprovision_user': 10 * MINUTE,
  'stream.open': 30,
  'agent.update': 15 * MINUTE,
};
