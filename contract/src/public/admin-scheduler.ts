import Type from 'typebox';
import { Closed, Name } from '../common.ts';
import { define } from '../define.ts';
import { operatorReads } from './operator.ts';

const Report = Type.Object({}, { additionalProperties: true });

const operatorRead = operatorReads('Placement');

export const adminSchedulerApi = define({
  adminSchedulerSnapshot: {
    ...operatorRead,
    path: '/api/v1/admin/scheduler/snapshot',
    summary: 'Get the input of the scheduler, for replay with `gpuaas admin scheduler explain`',
    permission: 'admin.node.read',
    query: Closed({
      region_name: Type.Optional(Name()),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5000, default: 1000, description: 'Nodes.' })),
    }),
    response: Report,
  },
});
