import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { PLATFORM_ROLES } from '../roles.ts';
import { operatorReads, operatorUpdates } from './operator.ts';

/** A pending user waits for the approval of the sign-up. */
export const USER_STATES = ['active', 'disabled', 'pending'] as const;
/** What an operator sets. */
export const USER_STATES_TO_SET = ['active', 'disabled'] as const satisfies readonly (typeof USER_STATES)[number][];

export const User = Closed({
  id: Id('user'),
  name: Type.String(),
  email: Nullable(Type.String()),
  issuer: Type.String(),
  subject: Type.String(),
  platform_role: Nullable(StringEnum(PLATFORM_ROLES)),
  state: StringEnum(USER_STATES),
  version: Type.Integer(),
  last_seen_at: Nullable(Time('Last authenticated request, to the minute.')),
  created_at: Time('First sign-in.'),
});

const operatorRead = operatorReads('Administration');
const operatorUpdate = operatorUpdates('Administration');

export const adminUserApi = define({
  adminUserList: {
    ...operatorRead,
    path: '/api/v1/admin/users',
    summary: 'List every user',
    permission: 'admin.user.read',
    query: Closed({ ...PageQuery, email: Type.Optional(Type.String({ format: 'email', maxLength: 254 })) }),
    response: Page(User),
  },
  adminUserGet: {
    ...operatorRead,
    path: '/api/v1/admin/users/{user_id}',
    summary: 'Get a user',
    permission: 'admin.user.read',
    params: Closed({ user_id: Id('user') }),
    response: User,
  },
  adminUserUpdate: {
    ...operatorUpdate,
    path: '/api/v1/admin/users/{user_id}',
    summary: 'Disable or enable a user, or change the platform role',
    description: 'Takes effect within 60 seconds. The last active superadmin cannot be demoted or disabled.',
    permission: 'admin.user.update',
    audit: 'user.update',
    freshSignIn: true,
    params: Closed({ user_id: Id('user') }),
    body: Closed(
      {
        state: Type.Optional(StringEnum(USER_STATES_TO_SET)),
        platform_role: Type.Optional(Nullable(StringEnum(PLATFORM_ROLES))),
      },
      { minProperties: 1 },
    ),
    response: User,
    errors: ['conflict'],
  },
});
