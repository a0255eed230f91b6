/** Who gets in: the sign-up policy and the groups of the issuer. */
import { Stack, Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ResourceSection } from '../../resource/resource-section.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { GROUPS } from './declared/groups.tsx';
import { GroupSync } from './group-sync.tsx';
import { SignUpPolicy } from './sign-up-policy.tsx';
import './site.css';

const TABS = [
  ['sign-up', 'Sign-up'],
  ['groups', 'Groups'],
] as const;

export const SiteAccessPage = () => {
  const { tab: asked } = useSearch({ from: '/console/site/access' });
  const navigate = useNavigate();
  const tab = TABS.find(([value]) => value === asked)?.[0] ?? 'sign-up';
  return (
    <Page title="Sign-up and groups" subtitle="Who may sign up, and which roles the groups of the issuer give.">
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({ to: '/site/access', search: value === null ? {} : { tab: value }, replace: true })
        }
      >
        <TabList current={tab} tabs={TABS} />
        <Tabs.Panel value="sign-up">
          <SignUpPolicy />
        </Tabs.Panel>
        <Tabs.Panel value="groups">
          <Stack gap="md">
            <ResourceSection resource={GROUPS} />
            <GroupSync />
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
};
