/** Members of a project. Owners and admins of the organization reach every project and stand in no list. */
import type { ProjectMember } from '@gpuaas/sdk';
import { Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { Person } from './person.tsx';
import { AddMemberForm, MemberRoleForm } from './project-member-forms.tsx';
import { useProjectFlags } from './use-cli-scope.ts';

export const ProjectMembers = ({
  projectId,
  organizationId,
}: Readonly<{ projectId: string; organizationId: string }>) => {
  const params = { project_id: projectId };
  const members = useAll('projectMemberList', { params });
  const remove = useChange('projectMemberRemove');
  const may = useMay();
  const flags = useProjectFlags(projectId);
  const [isAdding, setAdding] = useState(false);
  const [changing, setChanging] = useState<ProjectMember | null>(null);
  const [removing, setRemoving] = useState<ProjectMember | null>(null);
  const updateRefusal = may('project.member.update', { project: projectId });
  const removeRefusal = may('project.member.remove', { project: projectId });
  const add = (
    <ActionButton disabledReason={updateRefusal} onClick={() => setAdding(true)}>
      Add member
    </ActionButton>
  );
  const columns: readonly Column<ProjectMember>[] = [
    { header: 'Name', cell: (member) => <Person {...member} /> },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'Added', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
    {
      header: 'Actions',
      isHeaderHidden: true,
      align: 'right',
      cell: (member) => (
        <Group gap={6} justify="flex-end">
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Change the role of ${member.name}`}
            disabledReason={updateRefusal}
            onClick={() => setChanging(member)}
          >
            Role
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Remove ${member.name}`}
            disabledReason={removeRefusal}
            onClick={() => setRemoving(member)}
          >
            Remove
          </ActionButton>
        </Group>
      ),
    },
  ];
  return (
    <Section title="Members" actions={add} flush>
      <p className="muted" style={{ margin: 0, padding: '10px 16px' }}>
        Owners and admins of the{' '}
        <Link
          className="link"
          to="/organizations/$organizationId"
          params={{ organizationId }}
          search={{ tab: 'members' }}
        >
          organization
        </Link>{' '}
        reach every project, and its viewers see every project. They are not listed here.
      </p>
      <Async of={members} label="Members">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="Nobody was added to this project">
              Add somebody of the organization and choose what they may do. Whoever is not in the organization yet is
              invited there first.
            </EmptyState>
          ) : (
            <DataTable label="List of members" columns={columns} rows={rows} rowKey={({ user_id }) => user_id} />
          )
        }
      </Async>
      <FormDialog title="Add a member" isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddMemberForm
          projectId={projectId}
          organizationId={organizationId}
          present={(members.data ?? []).map(({ user_id }) => user_id)}
          onDone={() => setAdding(false)}
        />
      </FormDialog>
      <FormDialog
        title={`Role of ${changing?.name ?? ''}`}
        isOpen={changing !== null}
        onClose={() => setChanging(null)}
      >
        {changing !== null && (
          <MemberRoleForm projectId={projectId} member={changing} onDone={() => setChanging(null)} />
        )}
      </FormDialog>
      <ConfirmDialog
        title={`Remove ${removing?.name ?? ''} from the project?`}
        isOpen={removing !== null}
        onClose={() => {
          setRemoving(null);
          remove.reset();
        }}
        confirmLabel="Remove"
        isDestructive
        isRunning={remove.isRunning}
        error={remove.error}
        command={() =>
          command(
            ['project', 'member', 'remove', removing?.email ?? removing?.user_id ?? ''],
            [...flags, ['yes', true]],
          )
        }
        onConfirm={async () =>
          removing !== null && (await remove.run({ params: { ...params, user_id: removing.user_id } })) !== null
        }
      >
        They stop reaching the project within 60 seconds. What they launched keeps running and is charged to the
        project.
      </ConfirmDialog>
    </Section>
  );
};
