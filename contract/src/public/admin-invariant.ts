import Type from 'typebox';
import { Closed, Time } from '../common.ts';
import { define } from '../define.ts';
import { operatorReads } from './operator.ts';

const operatorRead = operatorReads('Placement');

export const adminInvariantApi = define({
  adminInvariantCheck: {
    ...operatorRead,
    path: '/api/v1/admin/invariants',
    summary: 'Run the read-only invariant queries now',
    permission: 'admin.invariant.read',
    query: Closed({}),
    response: Closed({
      is_clean: Type.Boolean(),
      checked_at: Time('When they ran.'),
      violations: Type.Array(Closed({ invariant: Type.String(), subject_id: Type.String(), detail: Type.String() })),
      checks: Type.Integer({ description: 'Number of invariants checked.' }),
    }),
  },
});
