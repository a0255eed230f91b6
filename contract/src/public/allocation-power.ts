/**
 * Power of an active slice. Id, address, GPUs, disks and price stay what they are: the allocation keeps what it was sold, on
 * or off, and is charged for it until it is released.
 */
import Type from 'typebox';
import { Closed, Nullable } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Allocation, userData } from './allocation.ts';
import { imageName } from './catalog.ts';

const params = Closed({ project_id: Id('project'), allocation_id: Id('allocation') });
const tag = 'Allocations';

const STAYS =
  'The allocation stays active: its GPUs, address and disks are kept for it, and it is charged, until it is released.';
const REFUSED =
  'Refused for a whole node, in any state but active, and while another change of power is under way; a release always wins.';

const change = {
  method: 'POST',
  tag,
  access: 'project',
  permission: 'allocation.power',
  idempotency: 'required',
  params,
  status: 202,
  response: Allocation,
  location: '/api/v1/projects/{project_id}/allocations/{allocation_id}',
  errors: ['conflict'],
} as const;

export const allocationPowerApi = define({
  allocationStop: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/stop',
    summary: 'Stop a slice; its GPUs stay allocated and charged',
    description: `The guest OS is asked to shut down; after the timeout the VM is powered off. ${STAYS} ${REFUSED}`,
    audit: 'allocation.stop',
    body: Closed({
      grace_s: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 900, description: 'Seconds for the guest OS to shut down (default 60).' }),
      ),
      is_hard: Type.Optional(Type.Boolean({ description: 'Power off without asking the guest OS.' })),
    }),
  },
  allocationStart: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/start',
    summary: 'Switch a slice on again, at the same address',
    description:
      'Also for a machine that was shut down from inside. Ends with power `on` when the guest was seen ready; otherwise ' +
      `with \`off\` or \`unknown\` and the reason. ${REFUSED}`,
    audit: 'allocation.start',
    body: Closed({}),
  },
  allocationReboot: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reboot',
    summary: 'Reboot a slice; everything on it stays',
    description: `The guest OS is asked first; the VM is reset if it does not respond. ${REFUSED}`,
    audit: 'allocation.reboot',
    body: Closed({ is_hard: Type.Optional(Type.Boolean({ description: 'Reset without asking the guest OS.' })) }),
  },
  allocationReinstall: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reinstall',
    summary: 'Reinstall a slice: its boot disk is overwritten, its data disks stay',
    description:
      'Stops the VM, writes the image over the boot disk, the disk of the first GPU, and starts it with a host key of ' +
      `its own. The disks of its other GPUs are not touched. ${STAYS} Also refused while protected. ${REFUSED}`,
    audit: 'allocation.reinstall',
    body: Closed({
      image_name: Type.Optional(imageName('Another image, in its newest version. Without one, the version it has.')),
      ssh_key_ids: Type.Optional(
        Type.Array(Id('ssh_key'), {
          maxItems: 32,
          uniqueItems: true,
          description: 'SSH keys to install (default: current keys).',
        }),
      ),
      user_data: Type.Optional(Nullable(userData('Null removes it (default: unchanged).'))),
    }),
  },
});
