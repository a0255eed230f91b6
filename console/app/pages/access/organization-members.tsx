/** People of an organization and their roles. */
import type { OrganizationMember } from '@gpuaas/sdk';
import { Button, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { Async } from '../../ui/async.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { DialogForm, FormDialog } from '../../ui/form-dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { Person } from './person.tsx';
import { RoleChoice } from './role-choice.tsx';
import { givableRoles, ownerRefusal, type TenantRole } from './roles.ts';
import { useOrganizationFlag } from './use-cli-scope.ts';

type Asked = Readonly<{ what: 'role' | 'remove'; member: OrganizationMember }>;

export const OrganizationMembers = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const members = useAll('organizationMemberList', { params: { organization_id: organizationId } });
  const remove = useChange('organizationMemberRemove');
  const me = useMe();
  const may = useMay();
  const org = useOrganizationFlag(organizationId);
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => {
    setAsked(null);
    remove.reset();
  };
  const place = { organization: organizationId };
  const refusalOf = (member: OrganizationMember) => ownerRefusal(me, organizationId, member, members.data ?? []);
  const columns: readonly Column<OrganizationMember>[] = [
    { header: 'Name', cell: (member) => <Person {...member} /> },
    { header: 'Role', cell: ({ role }) => role },
    { header: 'Joined', cell: ({ created_at }) => <Ago at={created_at} />, isSecondary: true },
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
            disabledReason={may('organization.member.update', place) ?? refusalOf(member)}
            onClick={() => setAsked({ what: 'role', member })}
          >
            Role
          </ActionButton>
          <ActionButton
            size="xs"
            variant="default"
            aria-label={`Remove ${member.name}`}
            disabledReason={may('organization.member.remove', place) ?? refusalOf(member)}
            onClick={() => setAsked({ what: 'remove', member })}
          >
            Remove
          </ActionButton>
        </Group>
      ),
    },
  ];
  const member = asked?.member ?? null;
  return (
    <Section
      title="Members"
      flush
      actions={
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link
              to="/organizations/$organizationId"
              params={{ organizationId }}
              search={{ tab: 'invitations' }}
              {...props}
            />
          )}
        >
          Invite somebody
        </Button>
      }
    >
      <Async of={members} label="Members">
        {(rows) => (
          <DataTable label="List of members" columns={columns} rows={rows} rowKey={({ user_id }) => user_id} />
        )}
      </Async>
      <FormDialog title={`Role of ${member?.name ?? ''}`} isOpen={asked?.what === 'role'} onClose={close}>
        {member !== null && <RoleForm organizationId={organizationId} member={member} onDone={close} />}
      </FormDialog>
      <ConfirmDialog
        title={`Remove ${member?.name ?? ''}?`}
        isOpen={asked?.what === 'remove'}
        onClose={close}
        confirmLabel="Remove"
        isDestructive
        isRunning={remove.isRunning}
        error={remove.error}
        command={() =>
          command(['organization', 'member', 'remove', member?.email ?? member?.user_id ?? ''], [org, ['yes', true]])
        }
        onConfirm={async () =>
          member !== null &&
          (await remove.run({ params: { organization_id: organizationId, user_id: member.user_id } })) !== null
        }
      >
        They lose the organization and all its projects within 60 seconds, and their tokens stop reaching it. What they
        launched keeps running and is charged to its project.
      </ConfirmDialog>
    </Section>
  );
};

const RoleForm = ({
  organizationId,
  member,
  onDone,
}: Readonly<{ organizationId: string; member: OrganizationMember; onDone(): void }>) => {
  const update = useChange('organizationMemberUpdate');
  const me = useMe();
  const org = useOrganizationFlag(organizationId);
  const [role, setRole] = useState<TenantRole>(member.role);
  return (
    <DialogForm
      submitLabel="Save"
      missing={role === member.role ? 'That is the role now; choose another.' : null}
      isRunning={update.isRunning}
      error={update.error}
      command={command(['organization', 'member', 'update', member.email ?? member.user_id], [['role', role], org])}
      onSubmit={async () => {
        const params = { organization_id: organizationId, user_id: member.user_id };
        const answer = await update.run({ params, body: { role } }, { ifMatch: member.version });
        if (answer !== null) onDone();
      }}
      onCancel={onDone}
    >
      <RoleChoice<TenantRole> roles={givableRoles(me, organizationId)} value={role} onChange={setRole} />
      <p className="muted" style={{ margin: 0 }}>
        It takes effect within 60 seconds.
      </p>
    </DialogForm>
  );
};
