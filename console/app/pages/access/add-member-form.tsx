/** Adds a member of the organization to a project. */
import { Select } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import { useChange } from '../../api/change.ts';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { Async } from '../../ui/async.tsx';
import { DialogForm } from '../../ui/form-dialog.tsx';
import { EmptyState } from '../../ui/page.tsx';
import { type Member, memberWord } from './members-table.tsx';
import { RoleChoice } from './role-choice.tsx';
import { PROJECT_ROLE_OPTIONS, type ProjectRole } from './roles.ts';
import { useProjectFlags } from './use-cli-scope.ts';

const PersonForm = ({
  projectId,
  people,
  onDone,
}: Readonly<{ projectId: string; people: readonly Member[]; onDone(): void }>) => {
  const put = useChange('projectMemberPut');
  const flags = useProjectFlags(projectId);
  const form = useForm<{ userId: string | null; role: ProjectRole }>({
    initialValues: { userId: people.length === 1 ? (people[0]?.user_id ?? null) : null, role: 'member' },
  });
  const { userId, role } = form.getValues();
  const person = people.find(({ user_id }) => user_id === userId);
  return (
    <DialogForm
      submitLabel="Add"
      missing={person === undefined ? 'Select a person.' : null}
      isRunning={put.isRunning}
      error={put.error}
      command={command(
        ['project', 'member', 'put', person === undefined ? 'PERSON' : memberWord(person)],
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
        placeholder="Member of the organization"
        data={people.map(({ user_id, name, email }) => ({
          value: user_id,
          label: email === null ? name : `${name} (${email})`,
        }))}
        searchable
        allowDeselect={false}
        {...form.getInputProps('userId')}
      />
      <RoleChoice<ProjectRole>
        roles={PROJECT_ROLE_OPTIONS}
        value={role}
        onChange={(next) => form.setFieldValue('role', next)}
      />
    </DialogForm>
  );
};

export const AddMemberForm = ({
  projectId,
  organizationId,
  present,
  onDone,
}: Readonly<{ projectId: string; organizationId: string; present: readonly string[]; onDone(): void }>) => {
  const members = useAll('organizationMemberList', { params: { organization_id: organizationId } });
  return (
    <Async of={members} label="Organization members">
      {(all) => {
        const people = all.filter(
          ({ user_id, role }) => !present.includes(user_id) && role !== 'owner' && role !== 'admin',
        );
        return people.length === 0 ? (
          <EmptyState title="No one left to add">
            Every member of the organization already has access to this project. To add other people,{' '}
            <Link
              className="link"
              to="/organizations/$organizationId"
              params={{ organizationId }}
              search={{ tab: 'invitations' }}
            >
              invite them
            </Link>{' '}
            to the organization first.
          </EmptyState>
        ) : (
          <PersonForm projectId={projectId} people={people} onDone={onDone} />
        );
      }}
    </Async>
  );
};
