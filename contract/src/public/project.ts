import Type from 'typebox';
import { Action, Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { PROJECT_ROLES } from '../roles.ts';
import { MembershipSource } from './organization.ts';

const recording = {
  records_terminals: Type.Boolean({
    description: 'Records terminals of this project, also where the access policy of the organization does not.',
  }),
  requires_recording: Type.Boolean({
    description:
      'Allows only recorded sessions in this project: records terminals, refuses every other kind. False leaves it to the organization.',
  }),
};

export const Project = Closed({
  id: Id('project'),
  organization_id: Id('organization'),
  name: Name('Unique in the organization.'),
  display_name: Type.String(),
  ...recording,
  version: Type.Integer(),
  created_at: Time('When it was created.'),
  actions: Type.Array(Action),
});

export const ProjectMember = Closed({
  user_id: Id('user'),
  name: Type.String(),
  email: Nullable(Type.String()),
  role: StringEnum(PROJECT_ROLES),
  source: MembershipSource,
  created_at: Time('When the user was added.'),
});

const ofOrganization = Closed({ organization_id: Id('organization') });
const params = Closed({ project_id: Id('project') });
const memberParams = Closed({ project_id: Id('project'), user_id: Id('user') });

export const projectApi = define({
  projectList: {
    method: 'GET',
    path: '/api/v1/organizations/{organization_id}/projects',
    tag: 'Projects',
    summary: 'List projects of the organization that the caller can see',
    access: 'tenant',
    permission: 'project.list',
    audit: null,
    idempotency: 'none',
    params: ofOrganization,
    query: Closed({ ...PageQuery, name: Type.Optional(Name('Only the project of this name.')) }),
    status: 200,
    response: Page(Project),
  },
  projectCreate: {
    method: 'POST',
    path: '/api/v1/organizations/{organization_id}/projects',
    tag: 'Projects',
    summary: 'Create a project',
    access: 'tenant',
    permission: 'project.create',
    audit: 'project.create',
    idempotency: 'required',
    params: ofOrganization,
    body: Closed({ name: Name(), display_name: Type.Optional(DisplayText('Display name.')) }),
    status: 201,
    response: Project,
    location: '/api/v1/projects/{id}',
    errors: ['already_exists', 'limit_exceeded'],
  },
  projectGet: {
    method: 'GET',
    path: '/api/v1/projects/{project_id}',
    tag: 'Projects',
    summary: 'Get a project',
    access: 'project',
    permission: 'project.read',
    audit: null,
    idempotency: 'none',
    params,
    status: 200,
    response: Project,
  },
  projectUpdate: {
    method: 'PATCH',
    path: '/api/v1/projects/{project_id}',
    tag: 'Projects',
    summary: 'Change the display name or the recording of sessions',
    description: '`requires_recording` also ends open sessions that are not recorded.',
    access: 'project',
    permission: 'project.update',
    audit: 'project.update',
    idempotency: 'none',
    ifMatch: true,
    params,
    body: Type.Partial(Closed({ display_name: DisplayText('Display name.'), ...recording }), {
      additionalProperties: false,
      minProperties: 1,
    }),
    status: 200,
    response: Project,
  },
  projectDelete: {
    method: 'DELETE',
    path: '/api/v1/projects/{project_id}',
    tag: 'Projects',
    summary: 'Delete an empty project',
    description: 'Refused while the project has service accounts or claims. Its audit rows are kept.',
    access: 'project',
    permission: 'project.delete',
    audit: 'project.delete',
    idempotency: 'none',
    params,
    status: 204,
    response: null,
    errors: ['conflict'],
  },
  projectMemberList: {
    method: 'GET',
    path: '/api/v1/projects/{project_id}/members',
    tag: 'Projects',
    summary: 'List members of the project',
    description: 'Owners and admins of the organization have access to every project and are not listed here.',
    access: 'project',
    permission: 'project.member.read',
    audit: null,
    idempotency: 'none',
    params,
    query: Closed({ ...PageQuery }),
    status: 200,
    response: Page(ProjectMember),
  },
  projectMemberPut: {
    method: 'PUT',
    path: '/api/v1/projects/{project_id}/members/{user_id}',
    tag: 'Projects',
    summary: 'Add a member of the organization to the project, or change the role',
    access: 'project',
    permission: 'project.member.update',
    audit: 'project.member.update',
    idempotency: 'none',
    params: memberParams,
    body: Closed({ role: StringEnum(PROJECT_ROLES) }),
    status: 200,
    response: ProjectMember,
    errors: ['conflict'],
  },
  projectMemberRemove: {
    method: 'DELETE',
    path: '/api/v1/projects/{project_id}/members/{user_id}',
    tag: 'Projects',
    summary: 'Remove a member from the project',
    description:
      'Takes effect within 60 seconds. A member by a group of the identity provider does not return at a sign-in: add the person again.',
    access: 'project',
    permission: 'project.member.remove',
    audit: 'project.member.remove',
    idempotency: 'none',
    params: memberParams,
    status: 204,
    response: null,
  },
});
