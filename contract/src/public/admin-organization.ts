import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { GPU_LIMIT_MAX } from './admin-site-policy.ts';
import { Invitation } from './invitation.ts';
import { operatorChanges, operatorReads } from './operator.ts';
import { Organization } from './organization.ts';

const operatorRead = operatorReads('Administration');

export const adminOrganizationApi = define({
  adminOrganizationList: {
    ...operatorRead,
    path: '/api/v1/admin/organizations',
    summary: 'List every organization',
    permission: 'admin.organization.read',
    query: Closed({ ...PageQuery, name: Type.Optional(Name()) }),
    response: Page(Organization),
  },
  adminOrganizationCreate: {
    ...operatorChanges('Administration'),
    path: '/api/v1/admin/organizations',
    summary: 'Create an organization with a default project for another owner',
    description:
      'Name one owner. A user becomes the owner at once. An email address gets an invitation as owner, whose token is ' +
      'shown once; the person may then sign up under every policy but `closed`.',
    permission: 'admin.organization.create',
    audit: 'organization.create',
    freshSignIn: true,
    secret: true,
    body: Closed({
      name: Name(),
      display_name: Type.Optional(DisplayText('Display name.')),
      owner_user_id: Type.Optional(Id('user', 'The owner, who has signed in before.')),
      owner_email: Type.Optional(
        Type.String({ format: 'email', maxLength: 254, description: 'The owner, by invitation.' }),
      ),
      gpu_limit: Type.Optional(
        Nullable(
          Type.Integer({
            minimum: 0,
            maximum: GPU_LIMIT_MAX,
            description: 'Default: `default_gpu_limit` of the site policy. Null for no limit.',
          }),
        ),
      ),
    }),
    status: 201,
    response: Closed({
      organization: Organization,
      invitation: Nullable(Invitation),
      token: Nullable(Type.String({ description: 'Token of the invitation, shown once.' })),
    }),
    errors: ['already_exists', 'conflict'],
  },
});
