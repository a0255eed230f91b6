/** Members of an organization and their roles. */
import type { OrganizationMember } from '@gpuaas/sdk';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { Async } from '../../ui/async.tsx';
import { Section } from '../../ui/page.tsx';
import { MembersTable, memberWord } from './members-table.tsx';
import { RoleForm } from './role-form.tsx';
import { grantableRoles, ownerRefusal, type TenantRole } from './roles.ts';
import { useOrganizationFlag } from './use-cli-scope.ts';

export const OrganizationMembers = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const members = useAll('organizationMemberList', { params: { organization_id: organizationId } });
  const update = useChange('organizationMemberUpdate');
  const remove = useChange('organizationMemberRemove');
  const me = useMe();
  const may = useMay();
  const org = useOrganizationFlag(organizationId);
  const place = { organization: organizationId };
  const paramsOf = ({ user_id }: OrganizationMember) => ({ organization_id: organizationId, user_id });
  const refusalOf = (member: OrganizationMember) => ownerRefusal(me, organizationId, member, members.data ?? []);
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
          Invite member
        </Button>
      }
    >
      <Async of={members} label="Members">
        {(rows) => (
          <MembersTable
            members={rows}
            sinceHeader="Joined"
            updateRefusal={(member) => may('organization.member.update', place) ?? refusalOf(member)}
            removeRefusal={(member) => may('organization.member.remove', place) ?? refusalOf(member)}
            roleForm={(member, onDone) => (
              <RoleForm<TenantRole>
                current={member.role}
                roles={grantableRoles(me, organizationId)}
                change={update}
                command={(role) =>
                  command(['organization', 'member', 'update', memberWord(member)], [['role', role], org])
                }
                onSave={async (role) => {
                  const request = { params: paramsOf(member), body: { role } };
                  if ((await update.run(request, { ifMatch: member.version })) !== null) onDone();
                }}
                onCancel={onDone}
              />
            )}
            removal={{
              from: 'organization',
              consequence:
                'The member loses access to the organization and all its projects within 60 seconds. Their allocations keep running and stay charged to the project.',
              change: remove,
              command: (member) =>
                command(['organization', 'member', 'remove', memberWord(member)], [org, ['yes', true]]),
              run: async (member) => (await remove.run({ params: paramsOf(member) })) !== null,
            }}
          />
        )}
      </Async>
    </Section>
  );
};
