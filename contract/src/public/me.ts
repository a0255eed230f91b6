import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { PLATFORM_ROLES, PROJECT_ROLES, TENANT_ROLES } from '../roles.ts';
import { SIGN_UP_REQUEST_STATES } from './admin-sign-up-request.ts';

export const Me = Closed({
  kind: StringEnum(['user', 'service_account']),
  id: Type.String({ description: 'usr_… or sva_….' }),
  name: Type.String(),
  email: Nullable(Type.String()),
  state: StringEnum(['active', 'pending'], {
    description: '`pending`: an operator has not approved the sign-up; nothing but this can be read.',
  }),
  sign_up_request: Nullable(
    Closed({
      id: Id('sign_up_request'),
      state: StringEnum(SIGN_UP_REQUEST_STATES),
      reason: Nullable(Type.String({ description: 'Reason of the decision.' })),
      created_at: Time('First sign-in.'),
    }),
  ),
  platform_role: Nullable(StringEnum(PLATFORM_ROLES)),
  organizations: Type.Array(
    Closed({
      id: Id('organization'),
      name: Type.String(),
      display_name: Type.String(),
      role: StringEnum(TENANT_ROLES),
    }),
  ),
  projects: Type.Array(
    Closed({
      id: Id('project'),
      organization_id: Id('organization'),
      name: Type.String(),
      role: StringEnum([...PROJECT_ROLES, 'service_account'] as const),
    }),
  ),
  credential: Closed({
    kind: StringEnum(['oidc', 'web_session', 'api_token', 'service_account_token']),
    scopes: Type.Array(Type.String()),
    expires_at: Nullable(Time('When the credential of this request expires.')),
  }),
});

export const meApi = define({
  meGet: {
    method: 'GET',
    path: '/api/v1/me',
    tag: 'Identity',
    summary: 'Get the caller, with organizations and projects',
    access: 'self',
    permission: 'self.read',
    audit: null,
    idempotency: 'none',
    status: 200,
    response: Me,
  },
});
