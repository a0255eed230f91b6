/** Memberships from an export of the issuer: the groups as they are now, not as they were at the last sign-in. */
import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { GROUP_ROLES } from './admin-group-mapping.ts';
import { operatorChanges, operatorReads } from './operator.ts';

export const GroupMembers = Closed(
  {
    issuer: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'The issuer that it was exported from, as in `GPUAAS_OIDC_ISSUER`.',
      examples: ['https://login.example.com/realms/gpuaas'],
    }),
    exported_at: Time('When the export began. For users who signed in later, that sign-in counts.'),
    groups: Type.Record(
      Type.String({ minLength: 1, maxLength: 255 }),
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { uniqueItems: true }),
      {
        maxProperties: 1_000,
        description:
          'Per group, as the issuer writes it in the groups claim, the subjects (`sub`) of all its members. Every mapped group must be present; one that no longer exists has none.',
      },
    ),
  },
  { description: 'All members of the mapped groups, complete.' },
);

export const GroupSyncHash = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Identifies the export and the changes that it leads to.',
  examples: ['5f0c9a1be2d47763'],
});

export const GROUP_SYNC_ACTIONS = ['grant', 'change', 'remove'] as const;

export const GroupSyncPlan = Closed({
  hash: GroupSyncHash,
  users_checked: Type.Integer({ description: 'Users of the issuer who have groups, or are in the export.' }),
  users_newer: Type.Integer({
    description: 'Of them, those who signed in or were synchronized after the export. They are not changed.',
  }),
  users_unknown: Type.Integer({ description: 'Subjects of the export that never signed in here.' }),
  memberships_granted: Type.Integer(),
  memberships_changed: Type.Integer({ description: 'Memberships whose role changes.' }),
  memberships_removed: Type.Integer(),
  changes: Type.Array(
    Closed({
      user_id: Id('user'),
      user_name: Type.String(),
      email: Nullable(Type.String()),
      action: StringEnum(GROUP_SYNC_ACTIONS),
      organization_name: Type.String(),
      project_name: Nullable(Type.String({ description: 'Null for the membership in the organization.' })),
      role: Nullable(StringEnum(GROUP_ROLES)),
    }),
    { description: 'Every change. The end of a membership in an organization ends those in its projects.' },
  ),
  warnings: Type.Array(Type.String(), {
    description: 'Why the export may be incomplete, as sentences. With one, applying needs `accept_warnings`.',
  }),
});

const path = '/api/v1/admin/group-mappings/sync';

export const adminGroupSyncApi = define({
  adminGroupSyncPlan: {
    ...operatorReads('Site'),
    method: 'POST',
    path: `${path}/plan`,
    summary: 'Compare an export of the issuer with the memberships and list what applying it would change',
    description: 'Reads only: takes no Idempotency-Key and leaves no audit row.',
    permission: 'admin.group_mapping.read',
    body: Closed({ members: GroupMembers }),
    response: GroupSyncPlan,
  },
  adminGroupSyncApply: {
    ...operatorChanges('Site'),
    path: `${path}/apply`,
    summary: 'Make memberships follow an export of the issuer, as planned and reviewed',
    description:
      'The groups of every user become those of the export: users missing from the export lose the memberships that groups gave them. Refused with 409 if ' +
      'the plan has changed, or has warnings that are not accepted.',
    permission: 'admin.group_mapping.update',
    audit: 'group_mapping.sync',
    freshSignIn: true,
    body: Closed({
      members: GroupMembers,
      hash: GroupSyncHash,
      accept_warnings: Type.Optional(Type.Boolean({ description: 'Apply it although the plan has warnings.' })),
    }),
    status: 200,
    response: GroupSyncPlan,
    errors: ['conflict'],
  },
});
