import Type from 'typebox';
import { Closed, Nullable, Time } from '../common.ts';
import { define } from '../define.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const Agents = Type.Integer({ minimum: 0 });

/** Whether work that ends, deletes or marks something because a time has passed may go by the clock of the database. */
const ClockStatus = Closed({
  is_held: Type.Boolean({
    description: 'Nothing is released, ended, deleted or marked because a time has passed.',
  }),
  database_time: Time('The clock of the database now.'),
  checked_at: Nullable(Time('When a worker last checked it, by this clock; null before the first check.')),
  held_since: Nullable(Time('When the hold began, by this clock.')),
  reason: Nullable(Type.String()),
  jump_ms: Nullable(
    Type.Integer({ description: 'How far the clock moved ahead of the time that a worker expected, in milliseconds.' }),
  ),
  agents: Closed(
    { known: Agents, reported: Agents, agreeing: Agents },
    {
      description:
        'Agents of nodes in service, those that sent a heartbeat since the hold began, and those of them whose host agrees with ' +
        'the database. When most agree the hold ends automatically.',
    },
  ),
  ended_at: Nullable(Time('When the last hold ended.')),
  ended_by: Nullable(
    Type.String({ description: '`agents`, `clock` if it returned, or the operator who confirmed it.' }),
  ),
  version: Type.Integer(),
});

export const adminClockApi = define({
  adminClockGet: {
    ...operatorReads('Nodes'),
    path: '/api/v1/admin/clock',
    summary: 'Get whether the clock of the database is trusted',
    permission: 'admin.node.read',
    query: Closed({}),
    response: ClockStatus,
  },
  adminClockConfirm: {
    ...operatorChanges('Nodes'),
    path: '/api/v1/admin/clock/confirm',
    summary: 'Confirm that the clock of the database is right, and continue the paused work',
    permission: 'admin.trust.update',
    audit: 'clock.confirm',
    freshSignIn: true,
    ifMatch: true,
    body: Closed({ reason: Reason }),
    status: 200,
    response: ClockStatus,
    errors: ['conflict'],
  },
});
