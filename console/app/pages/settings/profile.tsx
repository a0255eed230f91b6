/** The signed-in user, their roles, the appearance of the console, and joining another organization. */
import type { Me } from '@gpuaas/sdk';
import { Button, Stack } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMe } from '../../api/me.tsx';
import { ThemeSwitch } from '../../shell/account-menu.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { EmptyState, Facts, Section } from '../../ui/page.tsx';
import { Until } from '../../ui/time.tsx';
import { AcceptInvitation } from '../access/accept-invitation.tsx';
import { NewOrganizationDialog } from '../access/organization-forms.tsx';

const CREDENTIALS: Readonly<Record<Me['credential']['kind'], string>> = {
  web_session: 'Browser sign-in',
  oidc: 'Identity provider token',
  api_token: 'API token',
  service_account_token: 'Service account token',
};

export const Profile = () => {
  const me = useMe();
  const navigate = useNavigate();
  const open = (organizationId: string) =>
    void navigate({ to: '/organizations/$organizationId', params: { organizationId }, search: {} });
  return (
    <Stack gap="md">
      <Section title="Profile">
        <Facts
          facts={[
            ['Name', me.name],
            ['Email', me.email ?? 'not provided by the identity provider'],
            ['User ID', <Copyable key="id" text={me.id} label="user ID" />],
            ['Platform role', me.platform_role ?? 'none'],
            ['Signed in with', CREDENTIALS[me.credential.kind]],
            [
              'Scopes',
              me.credential.scopes.length === 0 ? 'all permissions of your roles' : me.credential.scopes.join(', '),
            ],
            ['Expires', me.credential.expires_at === null ? '–' : <Until key="ends" at={me.credential.expires_at} />],
          ]}
        />
        <p className="muted" style={{ marginBottom: 0 }}>
          The identity provider manages name and email.
        </p>
      </Section>
      <Section title="Theme">
        <div style={{ maxWidth: 320 }}>
          <ThemeSwitch />
        </div>
        <p className="muted" style={{ marginBottom: 0 }}>
          Saved in this browser.
        </p>
      </Section>
      <Organizations />
      <AcceptInvitation onAccepted={open} />
    </Stack>
  );
};

const Organizations = () => {
  const me = useMe();
  const [isCreating, setCreating] = useState(false);
  const close = () => setCreating(false);
  return (
    <Section
      title="Organizations"
      flush
      actions={
        <Button variant="default" onClick={() => setCreating(true)}>
          New organization
        </Button>
      }
    >
      {me.organizations.length === 0 ? (
        <EmptyState title="No organizations">
          Create an organization, or accept an invitation below. Projects, allocations and costs belong to an
          organization.
        </EmptyState>
      ) : (
        <DataTable
          label="Organizations"
          rows={me.organizations}
          rowKey={({ id }) => id}
          columns={[
            {
              header: 'Organization',
              cell: ({ id, display_name, name }) => (
                <>
                  <Link className="link" to="/organizations/$organizationId" params={{ organizationId: id }}>
                    {display_name}
                  </Link>
                  {display_name !== name && <div className="muted mono">{name}</div>}
                </>
              ),
            },
            { header: 'Your role', cell: ({ role }) => role },
            {
              header: 'Projects',
              cell: ({ id }) => me.projects.filter(({ organization_id }) => organization_id === id).length,
              align: 'right',
            },
          ]}
        />
      )}
      <NewOrganizationDialog isOpen={isCreating} onClose={close} />
    </Section>
  );
};
