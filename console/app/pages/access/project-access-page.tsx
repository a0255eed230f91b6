/** Access to a project: members with a role, and service accounts for programs. */
import { Tabs } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { ProjectMembers } from './project-members.tsx';
import { ServiceAccountPanel } from './service-account-panel.tsx';
import { ServiceAccounts } from './service-accounts.tsx';

const TABS = [
  ['members', 'Members'],
  ['service-accounts', 'Service accounts'],
] as const;
type Tab = (typeof TABS)[number][0];

export const ProjectAccessPage = () => {
  const { projectId = '' } = useParams({ strict: false });
  const { tab: asked, account } = useSearch({ from: '/console/projects/$projectId/access' });
  const navigate = useNavigate();
  const project = useMe().projects.find(({ id }) => id === projectId);
  const tab: Tab =
    TABS.find(([value]) => value === asked)?.[0] ?? (account === undefined ? 'members' : 'service-accounts');
  return (
    <Page title="Access" subtitle={`Members and service accounts of ${project?.name ?? 'this project'}.`}>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({
            to: '/projects/$projectId/access',
            params: { projectId },
            search: value === null ? {} : { tab: value },
            replace: true,
          })
        }
      >
        <TabList current={tab} tabs={TABS} />
        <Tabs.Panel value="members">
          <ProjectMembers projectId={projectId} organizationId={project?.organization_id ?? ''} />
        </Tabs.Panel>
        <Tabs.Panel value="service-accounts">
          {account === undefined ? (
            <ServiceAccounts projectId={projectId} />
          ) : (
            <ServiceAccountPanel projectId={projectId} accountId={account} />
          )}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
};
