/**
 * Power of an active slice. Id, address, GPUs, disks and price do not change: the allocation keeps its resources, on or
 * off, and is charged until it is released.
 */
import Type from 'typebox';
import { Closed, Nullable } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Allocation, userData } from './allocation.ts';
import { imageName } from './catalog.ts';

const params = Closed({ project_id: Id('project'), allocation_id: Id('allocation') });
const tag = 'Allocations';

const STAYS = 'The allocation stays active and charged until it is released; it keeps its GPUs, address and disks.';
const REFUSED =
  'Refused for bare metal, unless the allocation is active, and while another power change is running. A release cancels a power change.';

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
    description: `Asks the guest OS to shut down, and powers the VM off after the timeout. ${STAYS} ${REFUSED}`,
    audit: 'allocation.stop',
    body: Closed({
      grace_s: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 900, description: 'Seconds for the guest OS to shut down (default 60).' }),
      ),
      is_hard: Type.Optional(Type.Boolean({ description: 'Power off without shutting down the guest OS.' })),
    }),
  },
  allocationStart: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/start',
    summary: 'Start a slice, at the same address',
    description:
      'Also starts a VM that was shut down in the guest OS. The power state becomes `on` when the VM is ready; otherwise ' +
      `\`off\` or \`unknown\`, with the reason. ${REFUSED}`,
    audit: 'allocation.start',
    body: Closed({}),
  },
  allocationReboot: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reboot',
    summary: 'Reboot a slice; its disks are kept',
    description: `Asks the guest OS to reboot, and resets the VM if it does not respond. ${REFUSED}`,
    audit: 'allocation.reboot',
    body: Closed({
      is_hard: Type.Optional(Type.Boolean({ description: 'Reset without shutting down the guest OS.' })),
    }),
  },
  allocationReinstall: {
    ...change,
    path: '/api/v1/projects/{project_id}/allocations/{allocation_id}/reinstall',
    summary: 'Reinstall a slice: the boot disk is overwritten, the data disks are kept',
    description:
      'Stops the VM, writes the image to the boot disk (the disk of the first GPU) and starts the VM with a new host key. ' +
      `The disks of its other GPUs are kept. ${STAYS} Refused while protected. ${REFUSED}`,
    audit: 'allocation.reinstall',
    body: Closed({
      image_name: Type.Optional(imageName('Another image, in its newest version (default: the current version).')),
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
