import Type from 'typebox';
import { Closed, INT_MAX, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { ALLOCATION_STATES, Allocation } from './allocation.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const Claim = Closed({
  id: Id('claim'),
  claim_kind: StringEnum(['slot', 'node_exclusive']),
  node_id: Id('node'),
  slot_id: Nullable(Type.String()),
  gpu_count: Type.Integer(),
  created_at: Time('When it was taken.'),
  released_at: Nullable(Time('When a wipe proof released it.')),
  wipe_proof_id: Nullable(Type.String()),
});

export const AdminAllocation = Closed({
  allocation: Allocation,
  organization_id: Id('organization'),
  node_id: Nullable(Type.String()),
  claims: Type.Array(Claim),
});

const allocation = Closed({ allocation_id: Id('allocation') });

const operatorRead = operatorReads('Placement');
const operatorChange = operatorChanges('Placement');

export const adminAllocationApi = define({
  adminAllocationList: {
    ...operatorRead,
    path: '/api/v1/admin/allocations',
    summary: 'List allocations of every organization, newest first',
    permission: 'admin.allocation.read',
    query: Closed({
      ...PageQuery,
      state: Type.Optional(StringEnum(ALLOCATION_STATES)),
      node_id: Type.Optional(Id('node')),
      organization_id: Type.Optional(Id('organization')),
    }),
    response: Page(AdminAllocation),
  },
  adminAllocationGet: {
    ...operatorRead,
    path: '/api/v1/admin/allocations/{allocation_id}',
    summary: 'Get an allocation with placement and claims',
    permission: 'admin.allocation.read',
    params: allocation,
    response: AdminAllocation,
  },
  adminAllocationForceRelease: {
    ...operatorChange,
    path: '/api/v1/admin/allocations/{allocation_id}/force-release',
    summary: 'Release an allocation of an organization, even if protected',
    description:
      'Cleanup and wipe proof are the same as for any release. charge_until is for a database that was restored from a ' +
      'backup: it charges an allocation only until the time at which its host ended it, also where a release has closed the ' +
      'charge since. It is accepted while the node of the allocation is held by the restore.',
    permission: 'admin.allocation.release',
    audit: 'allocation.force_release',
    freshSignIn: true,
    params: allocation,
    body: Closed({
      reason: Reason,
      charge_until: Type.Optional(
        Time('When the charge ends: not before it began, and not after now or the end that it has (default: now).'),
      ),
    }),
    status: 202,
    response: AdminAllocation,
    location: '/api/v1/admin/allocations/{allocation_id}',
    errors: ['conflict'],
  },
  adminAllocationForceCleanup: {
    ...operatorChange,
    path: '/api/v1/admin/allocations/{allocation_id}/force-cleanup',
    summary: 'Retry the cleanup of an allocation whose cleanup is blocked',
    description:
      'runtime_verified_absent only skips stopping the VM. adopted_generations is for a database that was restored ' +
      'from a backup: it repeats, for each slot that has a host_generation, what the host knows, and so confirms that ' +
      'the data on the host may be wiped. It is empty for a whole node without such slots. Only a verified wipe frees slots.',
    permission: 'admin.allocation.release',
    audit: 'allocation.force_cleanup',
    freshSignIn: true,
    params: allocation,
    body: Closed({
      reason: Reason,
      runtime_verified_absent: Type.Boolean(),
      adopted_generations: Type.Optional(
        Type.Array(Closed({ slot_id: Id('slot'), host_generation: Type.Integer({ minimum: 0, maximum: INT_MAX }) }), {
          maxItems: 64,
        }),
      ),
    }),
    status: 202,
    response: AdminAllocation,
    location: '/api/v1/admin/allocations/{allocation_id}',
    errors: ['conflict', 'precondition_failed'],
  },
});
