import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { TENANT_ROLES } from '../roles.ts';
import { Organization } from './organization.ts';

export const INVITATION_TOKEN_PATTERN = '^[A-Za-z0-9_-]{16,128}$';
export const INVITATION_STATES = ['pending', 'accepted', 'revoked', 'expired'] as const;

export const Invitation = Closed({
  id: Id('invitation'),
  organization_id: Id('organization'),
  email: Type.String(),
  role: StringEnum(TENANT_ROLES),
  state: StringEnum(INVITATION_STATES),
  invited_by: Id('user'),
  expires_at: Time('When it expires.'),
  accepted_at: Nullable(Time('When it was accepted.')),
  created_at: Time('When it was created.'),
});

const params = Closed({ organization_id: Id('organization') });

export const invitationApi = define({
  invitationList: {
    method: 'GET',
    path: '/api/v1/organizations/{organization_id}/invitations',
    tag: 'Organizations',
    summary: 'List invitations',
    access: 'tenant',
    permission: 'invitation.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(Invitation),
  },
  invitationCreate: {
    method: 'POST',
    path: '/api/v1/organizations/{organization_id}/invitations',
    tag: 'Organizations',
    summary: 'Invite a person; the token is shown once and bound to the email address',
    access: 'tenant',
    permission: 'invitation.create',
    audit: 'invitation.create',
    idempotency: 'required',
    secret: true,
    params,
    body: Closed({
      email: Type.String({ format: 'email', maxLength: 254 }),
      role: StringEnum(TENANT_ROLES, { description: 'Only an owner can invite an owner.' }),
      expires_in_s: Type.Optional(Type.Integer({ minimum: 300, maximum: 2_592_000, default: 604_800 })),
    }),
    status: 201,
    response: Closed({
      invitation: Invitation,
      token: Type.String({ description: 'Shown once. Send it to the invited person.' }),
    }),
    errors: ['limit_exceeded'],
  },
  invitationRevoke: {
    method: 'DELETE',
    path: '/api/v1/organizations/{organization_id}/invitations/{invitation_id}',
    tag: 'Organizations',
    summary: 'Withdraw a pending invitation',
    access: 'tenant',
    permission: 'invitation.revoke',
    audit: 'invitation.revoke',
    idempotency: 'none',
    params: Closed({ organization_id: Id('organization'), invitation_id: Id('invitation') }),
    status: 204,
    response: null,
    errors: ['conflict'],
  },
  invitationAccept: {
    method: 'POST',
    path: '/api/v1/invitations/accept',
    tag: 'Organizations',
    summary: 'Join the organization that an invitation token names',
    description: 'The verified email address of the caller must be the invited one.',
    access: 'self',
    permission: 'self.invitation.accept',
    audit: 'invitation.accept',
    idempotency: 'required',
    body: Closed({ token: Type.String({ minLength: 16, maxLength: 128, pattern: INVITATION_TOKEN_PATTERN }) }),
    status: 200,
    response: Organization,
    errors: ['conflict'],
  },
});
