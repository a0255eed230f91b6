import Type from 'typebox';
import { Closed, Nullable, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { BundleLease, HostVm } from '../node/inventory.ts';
import { node } from './admin-node.ts';
import { NodeTask } from './admin-node-task.ts';
import { imageDigest, imageName } from './catalog.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const NodeFinding = Closed({
  code: Type.String({ description: 'Stable code, e.g. orphan_vm.' }),
  allocation_id: Nullable(Type.String()),
  vm: Nullable(Type.String()),
  slot_ids: Type.Array(Type.String()),
  message: Type.String(),
  since: Time('When the finding first appeared.'),
});

export const NodeInventory = Closed({
  node_id: Id('node'),
  observed_at: Time('When the agent observed the host, by the clock of the host.'),
  received_at: Time('When the server received it.'),
  age_s: Type.Integer({
    description: 'Age of the report. An agent reports on every change, and at least every two minutes.',
  }),
  boot_id: Type.String(),
  findings: Type.Array(NodeFinding, { description: 'Differences between host and claims.' }),
  vms: Type.Array(HostVm),
  leases: Type.Array(BundleLease),
  repaired: Type.Array(Type.String(), { description: 'What the agent repaired, as sentences.' }),
});

export const NodeImage = Closed({
  digest: Type.String(),
  name: Nullable(Type.String()),
  size_bytes: Type.Integer(),
  verified_at: Nullable(Time('When its bytes were last hashed.')),
  last_used_at: Nullable(Time('When a VM was last created from it.')),
});

const vm = Closed({
  node_id: Id('node'),
  vm_name: Type.String({ minLength: 1, maxLength: 255, description: 'Name of the VM in the inventory report.' }),
});
const task = { status: 202, response: NodeTask, location: '/api/v1/admin/nodes/{node_id}/tasks' } as const;
const ofDigest = Closed({ digest: imageDigest('Digest of the image.') });

export const adminInventoryApi = define({
  adminNodeInventoryGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/inventory',
    summary: 'Get the latest inventory report of a host, and its differences from the claims',
    permission: 'admin.node.read',
    params: node,
    response: NodeInventory,
  },
  adminNodeVmRemove: {
    ...operatorChange,
    ...task,
    path: '/api/v1/admin/nodes/{node_id}/vms/{vm_name}/remove',
    summary: 'Remove a managed VM without a claim from its host',
    description:
      'Refused for a VM that GPUaaS does not manage and for one with a claim; the agent checks both again. Disks are not wiped: slots whose devices the VM used stay quarantined until they are repaired.',
    permission: 'admin.node.update',
    audit: 'node.vm.remove',
    freshSignIn: true,
    params: vm,
    body: Closed({ reason: Reason }),
    errors: ['conflict'],
  },
  adminNodeBundleLeaseEnd: {
    ...operatorChange,
    ...task,
    path: '/api/v1/admin/nodes/{node_id}/bundle-leases/{allocation_id}/end',
    summary: 'End a bundle lease without a claim, and remove its VM',
    description:
      'For hosts that are ahead of a database restored from a backup. Refused while the allocation has a claim. The VM is stopped and removed. Disks are not wiped: the slots are quarantined until they are repaired, or until the cleanup of their current claim is proven.',
    permission: 'admin.node.update',
    audit: 'node.bundle_lease.end',
    freshSignIn: true,
    params: Closed({ node_id: Id('node'), allocation_id: Id('allocation') }),
    body: Closed({ reason: Reason }),
    errors: ['conflict'],
  },
  adminNodeImageList: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/images',
    summary: 'List the cached images of a host',
    permission: 'admin.node.read',
    params: node,
    response: Closed({
      node_id: Id('node'),
      observed_at: Nullable(Time('When the agent observed the cache; null before the first report.')),
      unreadable: Nullable(Type.String({ description: 'Why the cache could not be read.' })),
      images: Type.Array(NodeImage),
    }),
  },
  adminNodeImagePull: {
    ...operatorChange,
    ...task,
    path: '/api/v1/admin/nodes/{node_id}/images/pull',
    summary: 'Download an image of the catalog to a host before a launch needs it',
    description: 'If the host is configured to evict images, the least recently used ones are removed first.',
    permission: 'admin.node.update',
    audit: 'node.image.pull',
    params: node,
    body: Closed({
      image_name: imageName('Image slug.'),
      digest: Type.Optional(imageDigest('A version that is not retired (default: the newest).')),
    }),
    errors: ['conflict'],
  },
  adminNodeImageEvict: {
    ...operatorChange,
    ...task,
    path: '/api/v1/admin/nodes/{node_id}/images/evict',
    summary: 'Remove an image from the cache of a host',
    description: 'Refused while a VM is being created from it.',
    permission: 'admin.node.update',
    audit: 'node.image.evict',
    params: node,
    body: ofDigest,
    errors: ['conflict'],
  },
  adminNodeImageVerify: {
    ...operatorChange,
    ...task,
    path: '/api/v1/admin/nodes/{node_id}/images/verify',
    summary: 'Verify the digest of a cached image on a host; a changed image is removed',
    permission: 'admin.node.update',
    audit: 'node.image.verify',
    params: node,
    body: ofDigest,
    errors: ['conflict'],
  },
});
