import Type from 'typebox';
import { Closed, Nullable } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorChanges } from './operator.ts';

const operatorChange = operatorChanges('Placement');

export const adminClaimApi = define({
  adminClaimBackfill: {
    ...operatorChange,
    path: '/api/v1/admin/claims/backfill',
    summary: 'Create missing claim rows of node-bound allocations',
    description:
      'One request processes one batch in one transaction. Continue with `after_id` until `next_after_id` is null. A dry run changes nothing, and a batch can be repeated.',
    permission: 'admin.allocation.release',
    audit: 'claim.backfill',
    body: Closed({
      is_dry_run: Type.Boolean(),
      after_id: Type.Optional(Id('allocation')),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Allocations.' })),
    }),
    status: 200,
    response: Closed({
      is_dry_run: Type.Boolean(),
      claimed: Type.Array(Closed({ allocation_id: Id('allocation'), node_id: Id('node') })),
      skipped: Type.Array(Closed({ allocation_id: Id('allocation'), reason: Type.String() })),
      next_after_id: Nullable(Id('allocation')),
    }),
  },
});
