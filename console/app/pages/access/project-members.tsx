/** Members of a project. Owners and admins of the organization have access to every project and are not listed. */
import type { ProjectMember } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { AddMemberForm } from './add-member-form.tsx';
import { MembersTable, memberWord } from './members-table.tsx';
import { RoleForm } from './role-form.tsx';
import { PROJECT_ROLE_OPTIONS, type ProjectRole } from './roles.ts';
import { useProjectFlags } from './use-cli-scope.ts';

export const ProjectMembers = ({
  projectId,
  organizationId,
}: Readonly<{ projectId: string; organizationId: string }>) => {
  const members = useAll('projectMemberList', { params: { project_id: projectId } });
  const put = useChange('projectMemberPut');
  const remove = useChange('projectMemberRemove');
  const may = useMay();
  const flags = useProjectFlags(projectId);
  const [isAdding, setAdding] = useState(false);
  const updateRefusal = may('project.member.update', { project: projectId });
  const removeRefusal = may('project.member.remove', { project: projectId });
  const paramsOf = ({ user_id }: ProjectMember) => ({ project_id: projectId, user_id });
  return (
    <Section
      title="Members"
      flush
      actions={
        <ActionButton disabledReason={updateRefusal} onClick={() => setAdding(true)}>
          Add member
        </ActionButton>
      }
    >
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
        have access to every project. Its viewers can read every project. They are not listed here.
      </p>
      <Async of={members} label="Members">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No project members">
              Add a member of the organization and choose a role. Invite other people to the organization first.
            </EmptyState>
          ) : (
            <MembersTable
              members={rows}
              sinceHeader="Added"
              updateRefusal={() => updateRefusal}
              removeRefusal={() => removeRefusal}
              roleForm={(member, onDone) => (
                <RoleForm<ProjectRole>
                  current={member.role}
                  roles={PROJECT_ROLE_OPTIONS}
                  change={put}
                  command={(role) =>
                    command(['project', 'member', 'put', memberWord(member)], [['role', role], ...flags])
                  }
                  onSave={async (role) => {
                    if ((await put.run({ params: paramsOf(member), body: { role } })) !== null) onDone();
                  }}
                  onCancel={onDone}
                />
              )}
              removal={{
                from: 'project',
                consequence:
                  'The member loses access to the project within 60 seconds. Their allocations keep running and stay charged to the project.',
                change: remove,
                command: (member) =>
                  command(['project', 'member', 'remove', memberWord(member)], [...flags, ['yes', true]]),
                run: async (member) => (await remove.run({ params: paramsOf(member) })) !== null,
              }}
            />
          )
        }
      </Async>
      <FormDialog title="Add member" isOpen={isAdding} onClose={() => setAdding(false)}>
        <AddMemberForm
          projectId={projectId}
          organizationId={organizationId}
          present={(members.data ?? []).map(({ user_id }) => user_id)}
          onDone={() => setAdding(false)}
        />
      </FormDialog>
    </Section>
  );
};
