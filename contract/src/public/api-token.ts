import Type from 'typebox';
import { Closed, DisplayText, Nullable, Page, PageQuery, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';

export const ApiToken = Closed({
  id: Id('api_token'),
  name: Type.String(),
  token_prefix: Type.String({ description: 'The first characters, for identification.' }),
  scopes: Type.Array(Type.String()),
  project_id: Nullable(Id('project', 'The only project it can access; null for all projects of its owner.')),
  expires_at: Time('When it expires.'),
  last_used_at: Nullable(Time('Last use, to the minute.')),
  revoked_at: Nullable(Time('When it was revoked.')),
  created_at: Time('When it was created.'),
});

export const SCOPE_PATTERN = '^(?:all|read|[a-z_]+(?:\\.[a-z_]+)*(?:\\.\\*)?)$';
export const SCOPES_MAX = 32;
export const TOKEN_LIFETIME_MAX_S = 31_536_000;

export const TokenCreate = Closed({
  name: DisplayText('Purpose.', 80),
  scopes: Type.Array(Type.String({ pattern: SCOPE_PATTERN, maxLength: 64 }), {
    minItems: 1,
    maxItems: SCOPES_MAX,
    examples: [['read']],
    description:
      '`all`, `read`, a permission, or a prefix such as `service_account.*`. Never more than the creator holds. `fresh_sign_in`, which `all` does not include, stands for a fresh sign-in; only operators of the platform can grant it, for at most 7 days.',
  }),
  expires_in_s: Type.Integer({
    minimum: 60,
    maximum: TOKEN_LIFETIME_MAX_S,
    examples: [2_592_000],
    description: 'Lifetime in seconds, at most one year.',
  }),
});

export const TokenCreated = Closed({
  api_token: ApiToken,
  token: Type.String({ description: 'Shown once; stored as a hash.' }),
});

export const apiTokenApi = define({
  apiTokenList: {
    method: 'GET',
    path: '/api/v1/tokens',
    tag: 'API tokens',
    summary: "List the caller's tokens",
    access: 'self',
    permission: 'self.api_token.read',
    audit: null,
    idempotency: 'none',
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(ApiToken),
  },
  apiTokenCreate: {
    method: 'POST',
    path: '/api/v1/tokens',
    tag: 'API tokens',
    summary: 'Create a token with scopes and expiry; it is shown once',
    access: 'self',
    permission: 'self.api_token.create',
    audit: 'api_token.create',
    freshSignIn: true,
    idempotency: 'required',
    secret: true,
    body: Closed({
      ...TokenCreate.properties,
      project_id: Type.Optional(Id('project', 'Bind the token to one project.')),
    }),
    status: 201,
    response: TokenCreated,
    errors: ['limit_exceeded'],
  },
  apiTokenRevoke: {
    method: 'DELETE',
    path: '/api/v1/tokens/{token_id}',
    tag: 'API tokens',
    summary: 'Revoke a token',
    description: 'Takes effect within 60 seconds.',
    access: 'self',
    permission: 'self.api_token.revoke',
    audit: 'api_token.revoke',
    idempotency: 'none',
    params: Closed({ token_id: Id('api_token') }),
    status: 204,
    response: null,
  },
});
