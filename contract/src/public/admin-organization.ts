import Type from 'typebox';
import { Closed, Name, Page, PageQuery } from '../common.ts';
import { define } from '../define.ts';
import { operatorReads } from './operator.ts';
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
});
