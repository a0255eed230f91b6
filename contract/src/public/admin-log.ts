import Type from 'typebox';
import { Closed, HOST_ROLES, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorReads } from './operator.ts';

const operatorRead = operatorReads('Nodes');

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

const LogEntry = Closed({
  logged_at: Time('When it was written.'),
  level: StringEnum(LOG_LEVELS),
  service: Type.String(),
  host_role: StringEnum(HOST_ROLES),
  host_name: Type.String(),
  node_id: Nullable(Type.String()),
  message: Type.String(),
  correlation_id: Nullable(Type.String()),
  error_code: Nullable(Type.String()),
  fields: Type.Object({}, { additionalProperties: true }),
});

export const adminLogApi = define({
  adminLogList: {
    ...operatorRead,
    path: '/api/v1/admin/logs',
    summary: 'List log lines of all processes and agents by correlation ID or node, oldest first',
    permission: 'admin.log.read',
    query: Closed({
      ...PageQuery,
      correlation_id: Type.Optional(
        Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$', examples: ['c-01k9zv3m8q4t6w2x5y7r0s1n3p'] }),
      ),
      node_id: Type.Optional(Id('node')),
      level: Type.Optional(StringEnum(LOG_LEVELS, { description: 'This level and above.' })),
      since: Type.Optional(Time('Start time (default: one day ago).')),
    }),
    response: Page(LogEntry),
  },
});
