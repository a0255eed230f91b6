/** What operators decided for the whole site: who may sign up, and with which GPU limit an organization starts. */
import Type from 'typebox';
import { Closed, DisplayText, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { operatorReads, operatorUpdates } from './operator.ts';

export const SIGN_UP_POLICIES = ['closed', 'invited', 'approved', 'open'] as const;
export const GPU_LIMIT_MAX = 1_000_000;

/** The policy as a site file states it. */
export const SitePolicySpec = Closed({
  sign_up: StringEnum(SIGN_UP_POLICIES, {
    description:
      'Who may sign up. `closed`: no one. `invited`: people with a pending invitation to their verified email address, ' +
      'or in a mapped group. `approved`: everyone else waits until an operator approves. `open`: see `mail_domains`.',
  }),
  mail_domains: Type.Array(
    Type.String({
      pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$',
      maxLength: 253,
      examples: ['example.com'],
    }),
    {
      maxItems: 200,
      uniqueItems: true,
      description: 'With `open`: the domains whose verified email addresses may sign up. Empty for any address.',
    },
  ),
  default_gpu_limit: Nullable(
    Type.Integer({
      minimum: 0,
      maximum: GPU_LIMIT_MAX,
      description:
        'GPU limit with which an organization starts; those that users create beyond their first start with 0. Null for no limit.',
    }),
  ),
  contact: Nullable(DisplayText('Contact shown to refused users: an address or a name.', 200)),
});

export const SitePolicy = Closed({
  ...SitePolicySpec.properties,
  version: Type.Integer(),
  updated_at: Time('When it was last changed.'),
});

const path = '/api/v1/admin/site-policy';

export const adminSitePolicyApi = define({
  adminSitePolicyGet: {
    ...operatorReads('Site'),
    path,
    summary: 'Get the policy of the site',
    permission: 'admin.site_policy.read',
    response: SitePolicy,
  },
  adminSitePolicyUpdate: {
    ...operatorUpdates('Site'),
    path,
    summary: 'Change who may sign up and the first GPU limit of organizations',
    description: 'Existing users and organizations keep what they have.',
    permission: 'admin.site_policy.update',
    audit: 'site_policy.update',
    freshSignIn: true,
    body: Type.Partial(SitePolicySpec, { additionalProperties: false, minProperties: 1 }),
    response: SitePolicy,
  },
});
