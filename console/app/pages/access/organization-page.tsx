/** An organization: its projects, members, invitations and access policy. */
import { Tabs } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay, useMe } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { NotFoundPage } from '../../shell/not-found.tsx';
import { useLiveOrganization } from '../../shell/scope.tsx';
import { ActionButton } from '../../ui/action-button.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { AccessPolicyPanel } from './access-policy.tsx';
import { Invitations } from './invitations.tsx';
import { NewOrganizationDialog, RenameOrganizationForm } from './organization-forms.tsx';
import { OrganizationMembers } from './organization-members.tsx';
import { Projects } from './projects.tsx';

const TABS = [
  ['projects', 'Projects'],
  ['members', 'Members'],
  ['invitations', 'Invitations'],
  ['policy', 'Access policy'],
] as const;

export const OrganizationPage = () => {
  const { organizationId = '' } = useParams({ strict: false });
  const isMember = useMe().organizations.some(({ id }) => id === organizationId);
  return isMember ? <OrganizationView organizationId={organizationId} /> : <NotFoundPage />;
};

const OrganizationView = ({ organizationId }: Readonly<{ organizationId: string }>) => {
  const { tab: asked } = useSearch({ from: '/console/organizations/$organizationId' });
  const tab = TABS.find(([value]) => value === asked)?.[0] ?? 'projects';
  const navigate = useNavigate();
  const may = useMay();
  useLiveOrganization(organizationId);
  const known = useMe().organizations.find(({ id }) => id === organizationId);
  const organization = useRead('organizationGet', { params: { organization_id: organizationId } });
  const [asking, setAsking] = useState<'rename' | 'new' | null>(null);
  const close = () => setAsking(null);
  const isPersonal = organization.data?.kind === 'personal';
  return (
    <Page
      title={known?.display_name ?? 'Organization'}
      subtitle={
        <>
          {known?.name}
          {known !== undefined && `, your role: ${known.role}`}
          {isPersonal && ', personal'}
        </>
      }
      actions={
        <>
          <ActionButton
            variant="default"
            disabledReason={
              may('organization.update', { organization: organizationId }) ??
              (organization.data === undefined ? 'The organization is still loading.' : null)
            }
            onClick={() => setAsking('rename')}
          >
            Rename
          </ActionButton>
          <ActionButton variant="default" onClick={() => setAsking('new')}>
            New organization
          </ActionButton>
        </>
      }
    >
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({
            to: '/organizations/$organizationId',
            params: { organizationId },
            search: value === null ? {} : { tab: value },
            replace: true,
          })
        }
      >
        <TabList current={tab} tabs={TABS} />
        <Tabs.Panel value="projects">
          <Projects organizationId={organizationId} />
        </Tabs.Panel>
        <Tabs.Panel value="members">
          <OrganizationMembers organizationId={organizationId} />
        </Tabs.Panel>
        <Tabs.Panel value="invitations">
          <Invitations organizationId={organizationId} />
        </Tabs.Panel>
        <Tabs.Panel value="policy">
          <AccessPolicyPanel organizationId={organizationId} />
        </Tabs.Panel>
      </Tabs>
      <FormDialog title="Rename organization" isOpen={asking === 'rename'} onClose={close}>
        {organization.data !== undefined && <RenameOrganizationForm organization={organization.data} onDone={close} />}
      </FormDialog>
      <NewOrganizationDialog isOpen={asking === 'new'} onClose={close} />
    </Page>
  );
};
