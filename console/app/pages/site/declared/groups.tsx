import type { GroupMapping } from '@gpuaas/sdk';
import { useOrganizationChoices } from '../../../resource/choices.ts';
import { fieldsOf, sends } from '../../../resource/form.ts';
import { adminGroupMappingCreate } from '../../../resource/inputs.gen.ts';
import type { Resource } from '../../../resource/resource-section.tsx';
import { Id } from '../../../ui/copy.tsx';
import { Ago } from '../../../ui/time.tsx';

export const GROUPS: Resource<GroupMapping> = {
  title: 'Group mappings',
  empty: {
    title: 'No group mappings',
    text: 'A mapping gives the members of a group of the issuer a role in an organization or a project.',
  },
  list: { operation: 'adminGroupMappingList' },
  keyOf: ({ id }) => id,
  nameOf: ({ group }) => `mapping of ${group}`,
  columns: [
    { header: 'Group', cell: ({ group }) => <span className="mono site-digest">{group}</span> },
    {
      header: 'Role',
      cell: ({ role, organization_name, project_name }) => (
        <>
          {role}
          <div className="muted">
            {project_name === null ? organization_name : `${organization_name}, project ${project_name}`}
          </div>
        </>
      ),
    },
    { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    { header: 'ID', cell: ({ id }) => <Id id={id} />, isSecondary: true },
  ],
  create: {
    label: 'New mapping',
    submit: 'Create',
    title: 'New group mapping',
    permission: 'admin.group_mapping.update',
    note: () =>
      'Applies at the next sign-in of each member, and to everyone at a sync. Memberships that people gave stay as they are.',
    fields: fieldsOf(adminGroupMappingCreate, {
      group: {
        label: 'Group',
        description: 'As the issuer writes it in the groups claim.',
        placeholder: '/research',
        flag: null,
      },
      organization_id: { label: 'Organization', useChoices: useOrganizationChoices, flag: 'in-organization' },
      project_id: {
        label: 'Project ID',
        description: 'A role in this project only. A role in a project includes member in its organization.',
        rule: 'The ID of a project starts with prj_ and has 26 characters after it.',
        placeholder: 'prj_…',
        flag: 'in-project',
      },
      role: { label: 'Role', description: 'A group never makes an owner.', initial: 'member' },
    }),
    send: sends('adminGroupMappingCreate', (body) => ({ body })),
    words: (_, { group }) => ['admin', 'group-mapping', 'create', String(group ?? 'GROUP')],
  },
  changes: [
    {
      label: 'Delete',
      title: ({ group }) => `Delete the mapping of ${group}`,
      permission: 'admin.group_mapping.update',
      isDestructive: true,
      note: () => 'Members lose the role at their next sign-in. To end it for all of them now, sync groups afterwards.',
      fields: [],
      send: sends('adminGroupMappingDelete', (_, { id }: GroupMapping) => ({ params: { group_mapping_id: id } })),
      words: ({ id }) => ['admin', 'group-mapping', 'delete', id, '--yes'],
    },
  ],
};
