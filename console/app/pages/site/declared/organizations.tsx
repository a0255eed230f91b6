import type { Operations, Organization, Quota } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { useRead } from '../../../api/read.ts';
import { command, type Flag } from '../../../format/shell.ts';
import { type Choice, type Form, fieldsOf, sends } from '../../../resource/form.ts';
import { adminOrganizationCreate, adminQuotaPut } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import type { Secret } from '../../../ui/secret-view.tsx';
import { Ago } from '../../../ui/time.tsx';

/** A limit that was never set has this version. */
const UNSET_VERSION = 1;

const limitFlag = (sent: number | null): readonly Flag[] => (sent === null ? [['unlimited', true]] : [['gpus', sent]]);

export const limitText = ({ gpu_limit }: Pick<Quota, 'gpu_limit'>): string =>
  gpu_limit === null ? 'no limit' : String(gpu_limit);

const useUserChoices = (): readonly Choice[] =>
  (useRead('adminUserList', { query: { limit: 200 } }).data?.items ?? [])
    .filter(({ state }) => state === 'active')
    .map(({ id, name, email }) => ({ value: id, label: email === null ? name : `${name} (${email})` }));

type Created = Operations['adminOrganizationCreate']['response'];

const invitationOf = ({ organization, invitation, token }: Created): Secret | null =>
  token === null || invitation === null
    ? null
    : {
        title: `Invitation to ${organization.name}`,
        name: 'invitation token',
        value: token,
        facts: [['Command', command(['invitation', 'accept', token])]],
        explanation: (
          <>
            The platform sends no email. Send the token to the owner, who signs in as {invitation.email} and accepts the
            invitation under Settings, Profile, or with the command.
          </>
        ),
      };

const CREATE: Form<null> = {
  label: 'New organization',
  submit: 'Create',
  title: 'New organization',
  permission: 'admin.organization.create',
  note: () => 'It starts with a project named default. You do not become a member.',
  fields: fieldsOf(adminOrganizationCreate, {
    name: {
      label: 'Name',
      description: 'Unique on the platform. Cannot be changed later.',
      placeholder: 'acme',
      flag: null,
    },
    display_name: { label: 'Display name', description: null, placeholder: 'Acme Research' },
    owner_email: {
      label: "Owner's email address",
      description: 'The owner gets an invitation, whose token is shown once.',
      rule: 'The email address is not valid.',
      placeholder: 'ada@example.com',
    },
    owner_user_id: {
      label: 'Or an owner who has signed in before',
      description: 'Becomes the owner at once.',
      useChoices: useUserChoices,
      flag: 'owner-user',
    },
    gpu_limit: {
      label: 'GPU limit',
      description: 'That of the sign-up policy if empty.',
      flag: limitFlag,
    },
  }),
  check: ({ owner_email, owner_user_id }) =>
    (owner_email === undefined) === (owner_user_id === undefined)
      ? 'Name one owner: an email address, or a user who has signed in before.'
      : null,
  send: sends('adminOrganizationCreate', (body) => ({ body }), { secret: invitationOf }),
  words: (_, { name }) => ['admin', 'organization', 'create', String(name ?? 'NAME')],
};

const LIMIT_WORDS = {
  gpu_limit: {
    label: 'GPU limit',
    description: 'A limit below the current use stops new launches; running allocations are untouched.',
    isNeeded: true,
    flag: limitFlag,
  },
} as const;

/** Sets a limit: of an organization, or of one of its projects. */
const limitForm = <Row,>(
  label: string,
  limitOf: (
    row: Row,
  ) => Readonly<{ name: string; organization: Organization; quota: Quota | undefined; projectId?: string }>,
): Form<Row> => ({
  label,
  submit: 'Save',
  title: (row) => `GPU limit of ${limitOf(row).name}`,
  permission: 'admin.quota.update',
  starts: (row) => ({ gpu_limit: limitOf(row).quota?.gpu_limit ?? null }),
  note: (row) => `${limitOf(row).quota?.gpu_used ?? 0} GPUs are used now.`,
  fields: fieldsOf(adminQuotaPut, { ...LIMIT_WORDS, organization_id: null, project_id: null }),
  check: ({ gpu_limit }, row) => {
    const now = limitOf(row).quota;
    return now !== undefined && now.gpu_limit === gpu_limit ? 'No changes to save.' : null;
  },
  send: sends(
    'adminQuotaPut',
    (body, row: Row) => {
      const { organization, projectId } = limitOf(row);
      const project = projectId === undefined ? {} : { project_id: projectId };
      return { body: { ...body, organization_id: organization.id, ...project } };
    },
    { version: (row) => limitOf(row).quota?.version ?? UNSET_VERSION },
  ),
  words: (row) => {
    const { organization, projectId } = limitOf(row);
    return [
      'admin',
      'quota',
      'set',
      organization.name,
      ...(projectId === undefined ? [] : ['--in-project', projectId]),
    ];
  },
});

/** While limits are read again, one that is missing may only be unknown. */
export const organizations = (quotas: readonly Quota[], isReading: boolean): Resource<Organization> => {
  const quotaOf = ({ id }: Organization) =>
    quotas.find(({ organization_id, project_id }) => organization_id === id && project_id === null);
  return {
    title: 'Organizations',
    empty: { title: 'No organizations', text: 'An organization owns projects and pays for its allocations.' },
    list: { operation: 'adminOrganizationList' },
    keyOf: ({ id }) => id,
    nameOf: ({ name }) => name,
    columns: [
      {
        header: 'Organization',
        cell: ({ id, name, display_name, kind }) => (
          <>
            <Link className="link" to="/site/organizations" search={{ organization: id }}>
              {display_name}
            </Link>
            <div className="muted">
              <span className="mono">{name}</span>
              {kind === 'personal' && ', personal'}
            </div>
          </>
        ),
      },
      { header: 'GPUs used', align: 'right', cell: (row) => quotaOf(row)?.gpu_used ?? 0 },
      { header: 'GPU limit', align: 'right', cell: (row) => limitText(quotaOf(row) ?? { gpu_limit: null }) },
      { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    ],
    create: CREATE,
    changes: [
      {
        ...limitForm<Organization>('Limit', (organization) => ({
          name: organization.name,
          organization,
          quota: quotaOf(organization),
        })),
        refusal: (row) => (isReading && quotaOf(row) === undefined ? 'The limits are still loading.' : null),
      },
    ],
  };
};

/** The limits of one organization and of its projects. */
export const limitsOf = (organization: Organization, projectName: (id: string) => string): Resource<Quota> => ({
  title: 'GPU limits',
  empty: { title: 'No limits', text: 'Neither the organization nor one of its projects has a limit or uses GPUs.' },
  list: { operation: 'adminQuotaList', query: { organization_id: organization.id } },
  keyOf: ({ project_id }) => project_id ?? '',
  nameOf: ({ project_id }) => (project_id === null ? organization.name : projectName(project_id)),
  columns: [
    {
      header: 'Limit of',
      cell: ({ project_id }) => (project_id === null ? 'The whole organization' : `Project ${projectName(project_id)}`),
    },
    { header: 'GPUs used', align: 'right', cell: ({ gpu_used }) => gpu_used },
    { header: 'GPU limit', align: 'right', cell: limitText },
  ],
  create: {
    label: 'Limit of a project',
    submit: 'Save',
    title: `Limit of a project of ${organization.name}`,
    permission: 'admin.quota.update',
    note: () =>
      'For a project without a limit. A launch needs room in both limits: of the organization and of the project.',
    fields: fieldsOf(adminQuotaPut, {
      organization_id: null,
      project_id: {
        label: 'Project ID',
        description: null,
        isNeeded: true,
        rule: 'The ID of a project starts with prj_ and has 26 characters after it.',
        placeholder: 'prj_…',
        flag: 'in-project',
      },
      ...LIMIT_WORDS,
    }),
    send: sends('adminQuotaPut', (body) => ({ body: { ...body, organization_id: organization.id } }), {
      version: () => UNSET_VERSION,
    }),
    words: () => ['admin', 'quota', 'set', organization.name],
  },
  changes: [
    limitForm('Limit', (quota) => ({
      name: quota.project_id === null ? organization.name : `project ${projectName(quota.project_id)}`,
      organization,
      quota,
      ...(quota.project_id === null ? {} : { projectId: quota.project_id }),
    })),
  ],
});
