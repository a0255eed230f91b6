import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { LIMIT_NAMES } from '../limits.ts';
import { TENANT_ROLES } from '../roles.ts';

export const Organization = Closed({
  id: Id('organization'),
  name: Name('Unique on the platform.'),
  display_name: Type.String(),
  kind: StringEnum(['personal', 'enterprise']),
  version: Type.Integer(),
  created_at: Time('When it was created.'),
});

export const MEMBERSHIP_SOURCES = ['manual', 'group'] as const;
/** Who gave a membership: a person, or a group of the issuer. */
export const MembershipSource = StringEnum(MEMBERSHIP_SOURCES, {
  description: '`group`: by a group of the issuer. Such a membership ends with the group.',
});

export const OrganizationMember = Closed({
  user_id: Id('user'),
  name: Type.String(),
  email: Nullable(Type.String()),
  role: StringEnum(TENANT_ROLES),
  source: MembershipSource,
  version: Type.Integer(),
  created_at: Time('When the user joined.'),
});

export const OrganizationLimit = Closed({
  name: StringEnum(LIMIT_NAMES),
  per: StringEnum(['organization', 'user'], { description: 'Whose usage it limits. `user`: usage of the caller.' }),
  max: Type.Integer(),
  used: Nullable(Type.Integer({ description: 'Null for a rate or a count of one API process.' })),
  unit: Type.String({ examples: ['projects'] }),
  counts: Type.String({ description: 'What it counts.' }),
});

const params = Closed({ organization_id: Id('organization') });
const memberParams = Closed({ organization_id: Id('organization'), user_id: Id('user') });

export const organizationApi = define({
  organizationList: {
    method: 'GET',
    path: '/api/v1/organizations',
    tag: 'Organizations',
    summary: 'List organizations of the caller',
    access: 'self',
    permission: 'self.read',
    audit: null,
    idempotency: 'none',
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(Organization),
  },
  organizationCreate: {
    method: 'POST',
    path: '/api/v1/organizations',
    tag: 'Organizations',
    summary: 'Create an enterprise organization with a default project; the caller becomes its owner',
    description:
      'Only under the sign-up policy `open`. Otherwise an operator creates the organization (`adminOrganizationCreate`).',
    access: 'self',
    permission: 'self.organization.create',
    audit: 'organization.create',
    idempotency: 'required',
    body: Closed({ name: Name(), display_name: Type.Optional(DisplayText('Display name.')) }),
    status: 201,
    response: Organization,
    location: '/api/v1/organizations/{id}',
    errors: ['already_exists', 'limit_exceeded', 'policy_denied'],
  },
  organizationGet: {
    method: 'GET',
    path: '/api/v1/organizations/{organization_id}',
    tag: 'Organizations',
    summary: 'Get an organization',
    access: 'tenant',
    permission: 'organization.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: Organization,
  },
  organizationUpdate: {
    method: 'PATCH',
    path: '/api/v1/organizations/{organization_id}',
    tag: 'Organizations',
    summary: 'Change the display name',
    access: 'tenant',
    permission: 'organization.update',
    audit: 'organization.update',
    idempotency: 'none',
    ifMatch: true,
    params,
    body: Closed({ display_name: DisplayText('Display name.') }),
    status: 200,
    response: Organization,
  },
  organizationLimitList: {
    method: 'GET',
    path: '/api/v1/organizations/{organization_id}/limits',
    tag: 'Organizations',
    summary: 'List limits of the organization and of the caller, and their usage',
    description: 'An operator sets the limits. GPU limits are quotas: see the quota of a project.',
    access: 'tenant',
    permission: 'organization.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: Closed({ items: Type.Array(OrganizationLimit) }),
  },
  organizationMemberList: {
    method: 'GET',
    path: '/api/v1/organizations/{organization_id}/members',
    tag: 'Organizations',
    summary: 'List members and their roles',
    access: 'tenant',
    permission: 'organization.member.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(OrganizationMember),
  },
  organizationMemberUpdate: {
    method: 'PATCH',
    path: '/api/v1/organizations/{organization_id}/members/{user_id}',
    tag: 'Organizations',
    summary: "Change a member's role",
    description:
      'Takes effect within 60 seconds. The last owner cannot be demoted, and only an owner can add or remove owners.',
    access: 'tenant',
    permission: 'organization.member.update',
    audit: 'organization.member.update',
    idempotency: 'none',
    ifMatch: true,
    params: memberParams,
    body: Closed({ role: StringEnum(TENANT_ROLES) }),
    status: 200,
    response: OrganizationMember,
    errors: ['conflict'],
  },
  organizationMemberRemove: {
    method: 'DELETE',
    path: '/api/v1/organizations/{organization_id}/members/{user_id}',
    tag: 'Organizations',
    summary: 'Remove a member from the organization and all its projects',
    description:
      "Takes effect within 60 seconds. The last owner cannot be removed. The member's tokens lose access to the organization. A member by a group of the identity provider does not return at a sign-in: only an accepted invitation brings the person back.",
    access: 'tenant',
    permission: 'organization.member.remove',
    audit: 'organization.member.remove',
    idempotency: 'none',
    params: memberParams,
    status: 204,
    response: null,
    errors: ['conflict'],
  },
});
