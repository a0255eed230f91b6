import type { ProjectMember } from '@gpuaas/sdk';
import { Select } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { Async } from '../../ui/async.tsx';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { EmptyState } from '../../ui/page.tsx';
import { RoleChoice } from './role-choice.tsx';
import { PROJECT_ROLES, type ProjectRole } from './roles.ts';
import { useProjectFlags } from './use-cli-scope.ts';

const ROLES = PROJECT_ROLES.map(([role, meaning]) => ({ role, meaning }));

type Person = Readonly<{ user_id: string; name: string; email: string | null }>;

/** Adding and changing are one operation: the role that a person has in the project from now on. */
const PutForm = ({
  projectId,
  people,
  first,
  onDone,
}: Readonly<{
  projectId: string;
  /** Those to choose from; one, where it is settled who. */
  people: readonly Person[];
  first: ProjectRole;
  onDone(): void;
}>) => {
  const put = useChange('projectMemberPut');
  const flags = useProjectFlags(projectId);
  const isSettled = people.length === 1;
  const [userId, setUserId] = useState<string | null>(isSettled ? (people[0]?.user_id ?? null) : null);
  const [role, setRole] = useState<ProjectRole>(first);
  const person = people.find(({ user_id }) => user_id === userId);
  return (
    <DialogForm
      submitLabel="Save"
      missing={person === undefined ? 'Choose a person.' : null}
      isRunning={put.isRunning}
      error={put.error}
      command={command(
        ['project', 'member', 'put', person?.email ?? person?.user_id ?? 'PERSON'],
        [['role', role], ...flags],
      )}
      onSubmit={async () => {
        if (userId === null) return;
        const answer = await put.run({ params: { project_id: projectId, user_id: userId }, body: { role } });
        if (answer !== null) onDone();
      }}
      onCancel={onDone}
    >
      <Select
        label="Person"
        placeholder="Somebody of the organization"
        data={people.map(({ user_id, name, email }) => ({
          value: user_id,
          label: email === null ? name : `${name} (${email})`,
        }))}
        value={userId}
        searchable
        allowDeselect={false}
        readOnly={isSettled}
        onChange={setUserId}
      />
      <RoleChoice<ProjectRole> roles={ROLES} value={role} onChange={setRole} />
    </DialogForm>
  );
};

export const MemberRoleForm = ({
  projectId,
  member,
  onDone,
}: Readonly<{ projectId: string; member: ProjectMember; onDone(): void }>) => (
  <PutForm projectId={projectId} people={[member]} first={member.role} onDone={onDone} />
);

export const AddMemberForm = ({
  projectId,
  organizationId,
  present,
  onDone,
}: Readonly<{ projectId: string; organizationId: string; present: readonly string[]; onDone(): void }>) => {
  const members = useAll('organizationMemberList', { params: { organization_id: organizationId } });
  return (
    <Async of={members} label="People of the organization">
      {(all) => {
        const people = all.filter(
          ({ user_id, role }) => !present.includes(user_id) && role !== 'owner' && role !== 'admin',
        );
        return people.length === 0 ? (
          <EmptyState title="Everybody is here already">
            Whoever else is in the organization is in this project or reaches it by their role.{' '}
            <Link
              className="link"
              to="/organizations/$organizationId"
              params={{ organizationId }}
              search={{ tab: 'invitations' }}
            >
              Invite somebody
            </Link>{' '}
            first.
          </EmptyState>
        ) : (
          <PutForm projectId={projectId} people={people} first="member" onDone={onDone} />
        );
      }}
    </Async>
  );
};
