/** The handler of each task kind that works on the host. The agent's own kinds have theirs in `agent.ts`. */
import { bundleLease } from './bundle-lease.ts';
import { healthProbe } from './health-probe.ts';
import { imageEvict, imagePull, imageVerify } from './image-cache.ts';
import { imageClone } from './image-clone.ts';
import { nodeCleanup } from './node-cleanup.ts';
import { orphanRemove } from './orphan-remove.ts';
import { reconcile } from './reconcile.ts';
import { sliceCleanup } from './slice-cleanup.ts';
import type { HostHandlers } from './task.ts';
import { topologyDiscover } from './topology-discover.ts';
import { deprovisionUser, installAuthorizedKeys, provisionUser } from './user.ts';
import { vmReboot, vmStop } from './vm-power.ts';
import { vmReadiness } from './vm-readiness.ts';
import { vmStart } from './vm-start.ts';

export const handlers: HostHandlers = {
  'diag.health_probe': healthProbe,
  'slice.topology_discover': topologyDiscover,
  'slice.bundle_lease': bundleLease,
  'image.pull': imagePull,
  'image.evict': imageEvict,
  'image.verify': imageVerify,
  'slice.image_clone': imageClone,
  'slice.vm_start': vmStart,
  'slice.vm_readiness': vmReadiness,
  'slice.vm_reboot': vmReboot,
  'slice.vm_stop': vmStop,
  'slice.cleanup': sliceCleanup,
  'slice.reconcile': reconcile,
  'slice.orphan_remove': orphanRemove,
  'node.cleanup': nodeCleanup,
  'allocation.provision_user': provisionUser,
  'allocation.install_authorized_keys': installAuthorizedKeys,
  'allocation.deprovision_user': deprovisionUser,
};
